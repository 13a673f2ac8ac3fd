"""Numbers as a reader wants them in a table: few digits, the same in a whole column."""

import math
import re
from collections.abc import Sequence

from fer_lightning.report.content import Cell

HUGE = 1000  # numbers from here on need no decimals
GAP, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
_LEADING = re.compile(
    rf"[<>≤≥~≈\[(]*\s*([-+{MINUS}]?\d+(?:,\d{{3}})*(?:\.\d+)?(?:e[-+]?\d+)?)"
    rf"\s*(?:%|points|s|min|h|ms|[kMG]B?)?\s*(?:[±,;/\[(…{GAP}].*|to .*)?[\])]?"
)


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
