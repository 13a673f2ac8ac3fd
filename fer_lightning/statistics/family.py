"""Several tests of one hypothesis: adjusted p, the level of intervals, enough resamples.

The protocol: alpha = 0.005, 10,000 resamples, Bonferroni; Holm, never worse, stands beside it.
"""

import math
from collections.abc import Sequence

import numpy as np

ALPHA = 0.005
RESAMPLES = 10_000


def bonferroni(p: Sequence[float]) -> list[float]:
    """Multiply each p by the number of tests.

    >>> bonferroni([0.25, 0.5])
    [0.5, 1.0]
    """
    return [min(1.0, len(p) * value) for value in p]


def holm(p: Sequence[float]) -> list[float]:
    """Adjust the smallest p for all tests, the next for all but one, and so on.

    >>> holm([0.5, 0.125, 0.375])
    [0.75, 0.375, 0.75]
    """
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    stepped = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return [float(value) for value in adjusted]


def family_level(tests: int, alpha: float = ALPHA) -> float:
    """Return the level of each interval so that all hold together with 1 - alpha.

    >>> family_level(3)
    0.998333...
    """
    return 1 - alpha / tests


def family_resamples(tests: int, alpha: float = ALPHA, at_least: int = RESAMPLES) -> int:
    """Return B such that 2 m / (B + 1) < alpha / 2, or hardly any adjusted p could pass.

    >>> family_resamples(3), family_resamples(24)
    (10000, 19200)
    """
    needed = math.floor(4 * tests / alpha + 1e-6)  # B + 1 > 4 m / alpha
    return max(at_least, needed)
