"""The paired permutation test: would the difference be as large if models were exchanged?"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from fer_lightning.errors import UserError
from fer_lightning.statistics.bootstrap import BLOCK, seed_means
from fer_lightning.statistics.family import RESAMPLES

Floats = NDArray[np.float64]
DECIMALS = 12  # of magnitudes relative to the largest: what differs by rounding only is equal
TIE = 1e-9  # in the same unit: resamples as large as the observed sum but for rounding


def smallest_p(resamples: int = RESAMPLES) -> float:
    """Return the smallest p that so many resamples can give: two-sided, and never 0.

    >>> f"{smallest_p(10_000):.1e}"
    '2.0e-04'
    """
    return 2 / (resamples + 1)


def sign_flip_test(differences: Floats, resamples: int = RESAMPLES, seed: int = 0) -> float:
    """Exchange two models at random, image by image, and return the two-sided p.

    The statistic is the mean over seeds of each seed's mean. An image is exchanged for all seeds at
    once. p counts the observed order among the resamples and doubles the tail, as SciPy's
    `permutation_test(permutation_type="samples")` does; exchanged signs are symmetric about 0, so
    the tail beyond the observed size serves both directions. It holds for the given trained models
    and says nothing of training again.

    Images with equally large differences are interchangeable, so the signs of all of them are one
    binomial draw, exactly as many single coins; only real-valued differences need each coin.

    Args:
        differences: (S, n) or (n,) first minus second, NaN where a value is missing.
        resamples: their number.
        seed: of the signs.

    Returns:
        p from `smallest_p` to 1.

    >>> sign_flip_test(np.zeros(5))
    1.0
    >>> sign_flip_test(np.ones(40)) == smallest_p()
    True
    """
    values = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    seed_means(values)  # refuses seeds without values
    pairs = (~np.isnan(values)).sum(1, keepdims=True)
    shares = np.where(np.isnan(values), 0.0, values) / pairs
    shares = shares.sum(0)  # (n,) what each image adds to the statistic
    largest = np.abs(shares).max()
    if largest == 0:
        return 1.0
    shares = np.round(shares / largest, DECIMALS)
    observed = abs(shares.sum())
    drawn = _flipped_sums(np.abs(shares[shares != 0]), resamples, np.random.default_rng(seed))
    beyond = int((drawn >= observed - TIE).sum())
    return min(1.0, 2 * (beyond + 1) / (resamples + 1))


def _flipped_sums(sizes: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Return sums of sizes, (n,), with random signs, (resamples,)."""
    n = len(sizes)
    kinds, counts = np.unique(sizes, return_counts=True)
    if len(kinds) <= n / 8:
        plus = rng.binomial(counts, 0.5, (resamples, len(kinds)))
        return np.asarray((2 * plus - counts) @ kinds)
    rows, width = max(1, BLOCK // n), -(-n // 8)
    sums = []
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        packed = np.frombuffer(rng.bytes(size * width), np.uint8).reshape(size, width)
        plus = np.unpackbits(packed, axis=1, count=n).astype(np.float64)
        sums.append(2 * (plus @ sizes) - sizes.sum())
    return np.concatenate(sums)


class McNemar(NamedTuple):
    """How many images only the first and only the second model has, and the two-sided p."""

    only_first: int
    only_second: int
    p: float


def mcnemar(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> McNemar:
    """Test two yes-or-no answers for the same images by the exact binomial distribution.

    Args:
        first: (n,) bool.
        second: (n,) bool.

    Raises:
        UserError: another number of images.

    >>> first = np.array([True] * 9 + [False, True])
    >>> second = np.array([False] * 9 + [True, True])
    >>> mcnemar(first, second)
    McNemar(only_first=9, only_second=1, p=0.021484375)
    """
    first, second = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if first.shape != second.shape or first.ndim != 1:
        raise UserError(
            f"expected answers for the same images but got shapes {first.shape} and "
            f"{second.shape}; align them by image"
        )
    b, c = int((first & ~second).sum()), int((second & ~first).sum())
    p = min(1.0, 2 * float(bdtr(min(b, c), b + c, 0.5))) if b + c else 1.0
    return McNemar(b, c, max(p, np.finfo(float).tiny))  # half to the power 1,075 is 0 in a float
