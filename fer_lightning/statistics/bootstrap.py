"""Percentile intervals for trained models as they are, by resampling images."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fer_lightning.errors import UserError

# --- Several tests of one hypothesis: adjusted p, the level of intervals, enough resamples


ALPHA = 0.005
BEYOND = 50  # resamples beyond each end of an interval, so that its ends hardly move by chance
RESAMPLES = 20_000  # leaves so many beyond the ends of an interval of level 1 - ALPHA


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
    """Return B = 100 m / alpha: 50 resamples lie beyond each end of each interval of the family.

    An end then moves by about 1 % of the interval's half width from one seed of the resampling to
    the next, and the smallest adjusted p is 2 m / (B + 1) < alpha / 50.

    >>> family_resamples(1), family_resamples(24)
    (20000, 480000)
    """
    return max(at_least, math.ceil(2 * BEYOND * tests / alpha - 1e-6))


Floats = NDArray[np.float64]
BLOCK = 2**21  # numbers held at once, 16 MB
KEPT = 2**26  # bytes of a resampling that is kept for the next call, 64 MB
MISSING = np.inf  # stands for NaN where columns are compared: NaN is not equal to itself


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval at a level such as 0.995."""

    estimate: float
    low: float
    high: float
    level: float

    @property
    def side(self) -> int:
        """1 where the whole interval is above 0, -1 where it is below, else 0.

        >>> Interval(0.1, -0.1, 0.3, 0.95).side, Interval(-0.2, -0.3, -0.1, 0.95).side
        (0, -1)
        """
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True)
class Intervals:
    """All intervals that one set of resamples gives."""

    images: Interval  # the mean over seeds; images are resampled, seeds stay as they are
    per_seed: tuple[Interval, ...]  # each seed by itself, images resampled


def bootstrap(
    values: Floats, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Intervals:
    """Give the mean of per-image values, such as differences of two models, its intervals.

    All seeds met the same images, so a resample takes the same images for each of them: easy and
    hard images stay so for all seeds, which independent draws would average out. Seeds are not
    resampled: three of them would understate what a fourth brings (see `new_trainings`).

    Args:
        values: (S, n) or (n,); NaN marks an image without a value for that seed.
        level: of the intervals.
        resamples: their number.
        seed: of the resampling.

    Raises:
        UserError: a seed without any value, or a level outside (0, 1).

    >>> found = bootstrap(np.array([1.0, 0.0, 1.0, -1.0, 1.0, 0.0]), level=0.9)
    >>> round(found.images.estimate, 3), found.images.side, len(found.per_seed)
    (0.333, 0, 1)
    """
    stacked = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if not 0 < level < 1:
        raise UserError(f"expected a level between 0 and 1 but got {level}; give one such as 0.995")
    means = seed_means(stacked)
    mirror = -1.0 if means.mean() < 0 else 1.0  # so that swapped models give a mirrored result
    return _intervals(means, mirror * resampled_means(mirror * stacked, resamples, seed), level)


def _intervals(means: Floats, drawn: Floats, level: float) -> Intervals:
    """Read intervals off the drawn means, (B, S)."""

    def interval(estimate: float, of: Floats) -> Interval:
        low, high = np.nanquantile(of, [(1 - level) / 2, (1 + level) / 2])
        return Interval(float(estimate), float(low), float(high), level)

    return Intervals(
        interval(means.mean(), drawn.mean(1)),
        tuple(interval(mean, drawn[:, s]) for s, mean in enumerate(means)),
    )


def seed_means(values: Floats) -> Floats:
    """Return the mean of each seed, (S,), over the images that have a value.

    Raises:
        UserError: a seed has none.
    """
    missing = np.isnan(values)
    empty = missing.all(1).sum()
    if empty or not values.size:
        raise UserError(
            f"expected values for each seed but got none for {max(empty, 1)} of {len(values)} "
            "seeds; leave such seeds out"
        )
    return np.asarray(np.nanmean(values, axis=1) if missing.any() else values.mean(1))


def resampled_means(values: Floats, resamples: int, seed: int = 0) -> Floats:
    """Resample images, the same for all seeds, and return each seed's means.

    Images with equal values for all seeds are interchangeable, so only their number in a resample
    matters: one multinomial draw, exactly as many draws of single images. Correct or not, of two
    models and one seed, makes three kinds: +1, 0 and -1. Where values are real numbers, images are
    drawn one by one in blocks of bounded memory.

    Args:
        values: (S, n), NaN where there is none.
        resamples: B.
        seed: of the resampling.

    Returns:
        (B, S); NaN for a resample that holds no value of a seed.
    """
    n = values.shape[1]
    kinds, counts = np.unique(
        np.where(np.isnan(values), MISSING, values), axis=1, return_counts=True
    )
    blocks: Iterable[NDArray[np.integer]]
    if len(counts) <= n / 8:
        values = np.where(kinds == MISSING, np.nan, kinds)
        rng = np.random.default_rng(seed)
        sizes = _sizes(resamples, len(counts))
        blocks = (rng.multinomial(n, counts / n, size) for size in sizes)
    elif n * resamples * _whole(n)().itemsize <= KEPT:
        blocks = _kept(n, resamples, seed)
    else:
        blocks = _times(n, resamples, seed)
    there = ~np.isnan(values)
    filled = np.where(there, values, 0.0)
    drawn = []
    for block in blocks:
        times = block.astype(np.float64)
        held = n if there.all() else times @ there.T
        with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN we want
            drawn.append(times @ filled.T / held)
    return np.concatenate(drawn)


def _sizes(resamples: int, width: int) -> Iterator[int]:
    """Cut so many rows of a width into blocks of bounded memory; yield the rows of each."""
    rows = max(1, BLOCK // width)
    return (min(rows, resamples - start) for start in range(0, resamples, rows))


def _times(n: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Draw n of n images again and again; yield how often each was drawn, (rows, n)."""
    rng = np.random.default_rng(seed)
    for size in _sizes(resamples, n):
        picked = rng.integers(0, n, (size, n)) + np.arange(size)[:, None] * n
        yield np.bincount(picked.ravel(), minlength=size * n).reshape(size, n)


@lru_cache(maxsize=2)
def _kept(n: int, resamples: int, seed: int) -> tuple[NDArray[np.unsignedinteger], ...]:
    """Return all of `_times`: a focus table asks for the same 200 images dozens of times."""
    return tuple(times.astype(_whole(n)) for times in _times(n, resamples, seed))


def _whole(n: int) -> type[np.unsignedinteger]:
    """Return the smallest type that counts to n."""
    return np.uint8 if n < 2**8 else np.uint16 if n < 2**16 else np.uint32
