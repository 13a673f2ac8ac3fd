"""What the sections of a report share: which runs stand for a model, and how numbers are told."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from fer_lightning.report.content import Cell, Text
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.run import Run


def percent(fraction: float) -> str:
    """Write a share of the training images.

    >>> percent(0.3), percent(1.0)
    ('30 %', '100 %')
    """
    return f"{100 * fraction:g} %"


def number(value: Any, digits: int = 4) -> Cell:
    """Round a number for a table; None for what is none, and for NaN and infinity.

    >>> number(0.123456), number(float("nan")), number(None), number(41052.77, 1)
    (0.1235, None, None, 41052.8)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value):
        return None
    return value if isinstance(value, int) else round(float(value), digits)


def told(value: float, digits: int = 3) -> str:
    """Write a number in a sentence, short also where it is huge.

    >>> told(1.5), told(40545.2), told(float("nan"))
    ('1.500', '4.1e+04', 'n/a')
    """
    if not math.isfinite(value):
        return "n/a"
    return f"{value:.{digits}f}" if abs(value) < 1000 else f"{value:.1e}"


def mean(values: Iterable[Any]) -> float:
    """Average what is there; NaN where nothing is."""
    known = [float(v) for v in values if isinstance(v, int | float) and math.isfinite(v)]
    return sum(known) / len(known) if known else math.nan


def shown_fraction(collection: Collection) -> float:
    """Choose the fraction of which examples are shown: the largest that most models have."""
    return max(
        collection.fractions,
        key=lambda fraction: (
            len({run.model for run in collection.select(None, fraction)}),
            fraction,
        ),
    )


def examples(collection: Collection) -> dict[str, Run]:
    """Return one run a model, of the shown fraction and the smallest seed."""
    fraction = shown_fraction(collection)
    found: dict[str, Run] = {}
    for run in collection.select(None, fraction):
        found.setdefault(run.model, run)
    return found


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


def names(runs: Sequence[Run], most: int = 8) -> str:
    """List runs, shortened where there are many."""
    listed = [run.name for run in runs]
    rest = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {rest} more" if rest > 0 else "")


def lacking(runs: Sequence[Run], what: str, remedy: str) -> list[Text]:
    """Say which runs have no such file; nothing where all have it."""
    if not runs:
        return []
    return [Text(f"Left out, because they have no {what}: {names(runs)}. {remedy}", "note")]


def about(collection: Collection) -> str:
    """Name the data set with its fingerprint, for titles."""
    first = collection.runs[0]
    return f"{first.summary.get('data', 'unknown data')} ({first.fingerprint})"
