"""The rows of focus_epochs.csv, and reading one curve from them."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

# One row says how one metric of one kind of map is distributed over the probe images of one epoch.
COLUMNS = {
    "epoch": "counted from 0; empty for a null map that is the same in all epochs",
    "maps": "'model' for the model's own maps, else the name of a null map: 'uniform', ...",
    "metric": "'lfr', 'lsi' or 'background'",
    "region": "'eyes', 'eyebrow', 'nose', 'mouth', 'key' or 'all' for lfr, empty for the others",
    "n": "images, zero maps included",
    "zero_maps": "images whose map is zero everywhere; they are left out of all that follows",
    "mean": "",
    "sd": "with n-1 in the denominator",
    "median": "",
    "q25": "lower quartile",
    "q75": "upper quartile",
    "log_mean": "mean natural logarithm, lfr only",
    "share_ge_1": "share of images with at least 1, lfr only",
}
MODEL = "model"
REGIONS = ("eyes", "eyebrow", "nose", "mouth", "key", "all")

FocusRow = Mapping[str, str | float | None]
Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


def number(value: str | float | None) -> float:
    """Read a cell; an empty or unreadable one is NaN.

    >>> number("0.5"), number(2), number("")
    (0.5, 2.0, nan)
    """
    try:
        return float(value) if value is not None else math.nan
    except ValueError:
        return math.nan


def curve(
    rows: Sequence[FocusRow], column: str, metric: str, region: str = "", maps: str = MODEL
) -> Curve:
    """Return the epochs, ascending, and the values of one column in them.

    >>> row = {"maps": "model", "metric": "lsi", "region": ""}
    >>> rows = [row | {"epoch": "1", "mean": "0.3"}, row | {"epoch": "0", "mean": "0.2"}]
    >>> curve(rows, "mean", "lsi")
    (array([0., 1.]), array([0.2, 0.3]))
    """
    wanted = (maps, metric, region)
    found = sorted(
        (number(row.get("epoch")), number(row.get(column)))
        for row in rows
        if (row.get("maps"), row.get("metric"), row.get("region") or "") == wanted
    )
    epochs, values = np.array(found, np.float64).reshape(-1, 2).T
    return epochs, values


def null_maps(rows: Sequence[FocusRow]) -> list[str]:
    """Return the names of the null maps in their order of appearance."""
    return list(dict.fromkeys(str(row["maps"]) for row in rows if row.get("maps") != MODEL))


def level(rows: Sequence[FocusRow], column: str, metric: str, region: str, maps: str) -> float:
    """Return the median over epochs of a null map's number, NaN where there is none."""
    values = curve(rows, column, metric, region, maps)[1]
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else math.nan
