"""What sections and pages share: which runs stand for a model, and how numbers are written."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fer_lightning.errors import UserError
from fer_lightning.hypotheses.evidence import Focus
from fer_lightning.report.content import Cell, Item, Table, Text
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.run import Run

HUGE = 1000  # numbers from here on need no decimals
GAP, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
_LEADING = re.compile(
    rf"[<>≤≥~≈\[(]*\s*([-+{MINUS}]?\d+(?:,\d{{3}})*(?:\.\d+)?(?:e[-+]?\d+)?)"
    rf"\s*(?:%|points|s|min|h|ms|[kMG]B?)?\s*(?:[±,;/\[(…{GAP}].*|to .*)?[\])]?"
)


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
    names = ", ".join(run.shown_as for run in runs[:most])
    more = f" and {len(runs) - most} more" if len(runs) > most else ""
    return [Text(f"Left out, because they have no {what}: {names}{more}. {remedy}", "note")]


def places(wanted: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each wanted row stands among others, -1 where it does not.

    >>> places(np.array([7, 3, 9]), np.array([3, 5, 7])).tolist()
    [2, 0, -1]
    """
    if not len(among):
        return np.full(len(wanted), -1)
    order = np.argsort(among, kind="stable")
    at = np.minimum(np.searchsorted(among[order], wanted), len(among) - 1)
    return np.where(among[order][at] == wanted, order[at], -1)


def about(collection: Collection) -> str:
    """Name the data set with its fingerprint, for titles."""
    first = collection.runs[0]
    return f"{first.summary.get('data', 'unknown data')} ({first.fingerprint})"


def value_of(cell: Cell) -> float | None:
    """Return the number that a cell stands for when a column is sorted, None for words and gaps.

    >>> value_of("-1.5 [-3.0, 0.2]"), value_of("30 %"), value_of("swin"), value_of(2)
    (-1.5, 30.0, None, 2.0)
    """
    if isinstance(cell, str):
        found = _LEADING.fullmatch(cell.strip())
        return float(found.group(1).replace(MINUS, "-").replace(",", "")) if found else None
    return None if _gap(cell) else float(cell)  # type: ignore[arg-type]


def is_numeric(column: Sequence[Cell]) -> bool:
    """Tell whether a column holds numbers, gaps aside.

    >>> is_numeric([1, None, "2 ± 1"]), is_numeric([1, "cnn"]), is_numeric([None])
    (True, False, False)
    """
    cells = [cell for cell in column if not _gap(cell)]
    return bool(cells) and all(value_of(cell) is not None for cell in cells)


def plain_rows(table: Table) -> list[list[Cell]]:
    """Return the rows of a table with numbers of Python in place of NumPy's.

    Raises:
        UserError: a row that is not as long as the head.

    >>> plain_rows(Table("t", "", ("a", "b"), ((np.float64(0.5), None),)))
    [[0.5, None]]
    """
    for row in table.rows:
        if len(row) != len(table.columns):
            raise UserError(
                f"expected {len(table.columns)} cells in each row of table {table.id!r} but got "
                f"{len(row)}; write None for a gap"
            )
    return [[c.item() if isinstance(c, np.generic) else c for c in row] for row in table.rows]


def format_column(column: Sequence[Cell]) -> list[str]:
    """Write a column's cells with as many decimals as its largest number needs.

    A few huge numbers among small ones do not count and stand without decimals. A number that would
    read as zero is written with its power of ten instead, and a share of nearly 1 with its nines.

    >>> format_column([0.73456, 0.1]), format_column([30.0, 60.0]), format_column([1278631, 12])
    (['0.735', '0.100'], ['30', '60'], ['1,278,631', '12'])
    >>> format_column([0.9999, 0.5]), format_column([0.9999, 12.34])
    (['0.9999', '0.5000'], ['1.00', '12.34'])
    >>> format_column([41034.5678, 1.3491, 0.9912])
    ['41,035', '1.349', '0.991']
    """
    floats = [x for x in column if isinstance(x, float) and math.isfinite(x)]
    sizes = sorted(map(abs, floats))
    small = [size for size in sizes if size < HUGE]
    largest = (small if 2 * len(small) > len(sizes) else sizes or [0.0])[-1]
    most = 3 if largest < 10 else 2 if largest < 100 else 1 if largest < HUGE else 0
    if largest <= 1 and any(round(x, most) == 1 != x for x in floats):
        most = 5
    decimals = min(most, max(map(_decimals, floats), default=0))
    return [_written(cell, decimals) for cell in column]


def _written(cell: Cell, decimals: int) -> str:
    if _gap(cell):
        return GAP
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        text = f"{cell:,}" if abs(cell) >= 10_000 else str(cell)
    elif math.isinf(float(cell or 0)):
        text = "∞" if float(cell or 0) > 0 else "-∞"
    else:
        number = float(cell or 0)
        decimals = decimals if abs(number) < HUGE else 0
        text = f"{number:,.{decimals}f}" if abs(number) >= 10_000 else f"{number:.{decimals}f}"
        if number and not float(text.replace(",", "")):
            text = re.sub(r"e([-+])0*", r"e\1", f"{number:.1e}")
    return text.replace("-", MINUS)


def _decimals(number: float) -> int:
    """Count the decimals that somebody rounded a number to."""
    return len(f"{number:.6f}".rstrip("0").split(".")[1])


def _gap(cell: Cell) -> bool:
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell))
