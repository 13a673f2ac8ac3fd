"""Cohen's d, in the paper's way and for pairs."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def cohen_d_of(mean_1: float, sd_1: float, mean_2: float, sd_2: float) -> float:
    """Return the paper's d: means apart, in units of the root mean square of both SDs.

    It treats the two models as independent samples, though both saw the same images.

    >>> round(cohen_d_of(1.846, 0.358, 0.861, 0.213), 3)  # KEY of the paper, which prints 3.345
    3.344
    """
    return _ratio(mean_1 - mean_2, float(np.sqrt((sd_1**2 + sd_2**2) / 2)))


def cohen_d(first: Floats, second: Floats) -> float:
    """Return the paper's d of per-image values; NaN is left out, SDs have n-1.

    >>> round(cohen_d(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])), 6)
    -1.0
    """
    return cohen_d_of(*_mean_and_sd(first), *_mean_and_sd(second))


def cohen_d_paired(differences: Floats) -> float:
    """Return the mean difference of pairs in units of its SD over pairs; NaN is left out.

    >>> round(cohen_d_paired(np.array([1.0, 2.0, 3.0])), 6)
    2.0
    """
    return _ratio(*_mean_and_sd(differences))


def _mean_and_sd(values: Floats) -> tuple[float, float]:
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std(ddof=1))


def _ratio(difference: float, spread: float) -> float:
    if spread == 0:
        return float("nan") if difference == 0 else float(np.copysign(np.inf, difference))
    return difference / spread
