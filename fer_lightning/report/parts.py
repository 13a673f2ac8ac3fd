"""What the sections share: which runs stand for a model, and how numbers are written."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fer_lightning.hypotheses.evidence import Focus
from fer_lightning.report.content import Cell, Item, Text
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.run import Run


def percent(fraction: float) -> str:
    """Write a share of the training images.

    >>> percent(0.3), percent(1.0)
    ('30 %', '100 %')
    """
    return f"{100 * fraction:g} %"


def number(value: Any, digits: int | None = 4) -> Cell:
    """Round a number for a table; None for what is none, and for NaN and infinity.

    >>> number(0.123456), number(float("nan")), number(None), number(41052.77, 1), number(7.0, None)
    (0.1235, None, None, 41052.8, 7)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value):
        return None
    return value if isinstance(value, int) else round(float(value), digits)


def format_number(value: float, digits: int = 3) -> str:
    """Write a number in a sentence, short also where it is huge.

    >>> format_number(1.5), format_number(40545.2), format_number(math.nan)
    ('1.500', '4.1e+04', 'n/a')
    """
    if not math.isfinite(value):
        return "n/a"
    return f"{value:.{digits}f}" if abs(value) < 1000 else f"{value:.1e}"


def mean(values: Iterable[Any]) -> float:
    """Average what is there; NaN where nothing is."""
    known = [float(v) for v in values if isinstance(v, int | float) and math.isfinite(v)]
    return sum(known) / len(known) if known else math.nan


def shown_fraction(runs: Sequence[Run] | Sequence[Focus]) -> float:
    """Choose the fraction of which examples are shown: the largest that most models have."""
    fractions = {run.fraction for run in runs}
    return max(fractions, key=lambda x: (len({r.model for r in runs if r.fraction == x}), x))


def examples(collection: Collection) -> dict[str, Run]:
    """Return one run per model, of the shown fraction and the smallest seed."""
    found: dict[str, Run] = {}
    for run in collection.select(None, shown_fraction(collection.runs)):
        found.setdefault(run.model, run)
    return found


def by_cell(collection: Collection) -> Iterator[tuple[str, float, Sequence[Run]]]:
    """Yield each model and fraction that has runs, and the runs of its seeds."""
    for model in collection.models:
        for fraction in collection.fractions:
            if runs := collection.select(model, fraction):
                yield model, fraction, runs


def pair_of(collection: Collection) -> tuple[str, str] | None:
    """Return the two models that are compared: cnn and vit, or the study's first two."""
    asked = collection.study.get("hypotheses")
    for entry in asked if isinstance(asked, list) else []:
        names = tuple(entry.get(n) for n in ("first", "second")) if isinstance(entry, dict) else ()
        if len(names) == 2 and all(name in collection.models for name in names):
            return names  # type: ignore[return-value]
    if {"cnn", "vit"} <= set(collection.models):
        return "cnn", "vit"
    return collection.models[:2] if len(collection.models) > 1 else None  # type: ignore[return-value]


def lacking(runs: Sequence[Run], what: str, remedy: str = "", most: int = 8) -> list[Item]:
    """Say which runs have no such file; nothing where all have it."""
    if not runs:
        return []
    names = ", ".join(run.name for run in runs[:most])
    more = f" and {len(runs) - most} more" if len(runs) > most else ""
    return [Text(f"Left out, because they have no {what}: {names}{more}. {remedy}", "note")]


def about(collection: Collection) -> str:
    """Name the data set with its fingerprint, for titles."""
    first = collection.runs[0]
    return f"{first.summary.get('data', 'unknown data')} ({first.fingerprint})"
