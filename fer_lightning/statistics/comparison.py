"""Everything a report says of two models on the same images, in one record."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fer_lightning.errors import UserError
from fer_lightning.statistics.bootstrap import Interval, bootstrap
from fer_lightning.statistics.effect_size import cohen_d, cohen_d_paired
from fer_lightning.statistics.family import ALPHA, RESAMPLES
from fer_lightning.statistics.permutation import sign_flip_test

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """First model minus second.

    Args:
        estimate: mean over seeds of each seed's mean difference.
        images: its interval over test images, with the seeds as they are.
        seeds: its interval over seeds and images; None for one seed.
        per_seed: each seed by itself, over images.
        p: of the paired permutation test over images.
        d: Cohen's d as the paper's, mean over seeds; NaN where only differences are known.
        d_paired: Cohen's d of the pairs, mean over seeds.
        n: images.
        excluded: pairs of all seeds left out because a value is missing.
        resamples: of the intervals and of the test.
    """

    estimate: float
    images: Interval
    seeds: Interval | None
    per_seed: tuple[Interval, ...]
    p: float
    d: float
    d_paired: float
    n: int
    excluded: int
    resamples: int

    @property
    def interval(self) -> Interval:
        """The interval a verdict rests on: over seeds too, where there are several."""
        return self.seeds or self.images

    @property
    def speaks_of(self) -> str:
        """What the interval covers, and what it cannot say."""
        S = len(self.per_seed)
        if S == 1:
            return (
                "test images only: with one seed it cannot speak of training randomness, another "
                "seed may give another difference"
            )
        return f"test images and training randomness, as far as {S} seeds show it"


def compare(
    first: ArrayLike,
    second: ArrayLike,
    level: float = 1 - ALPHA,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare per-image values of two models: right or wrong, or a measure.

    Args:
        first: (S, n) or (n,) bool or numbers, NaN for a missing value.
        second: likewise, for the same seeds and images.
        level: of the intervals.
        resamples: of intervals and test.
        seed: of the resampling.

    Raises:
        UserError: shapes differ, or a seed has no pair.

    >>> found = compare([1, 1, 1, 0, 1, 1], [0, 0, 0, 0, 1, 0])
    >>> round(found.estimate, 3), found.n, found.speaks_of[:16]
    (0.667, 6, 'test images only')
    """
    a, b = (np.atleast_2d(np.asarray(values, dtype=np.float64)) for values in (first, second))
    if a.shape != b.shape:
        raise UserError(
            f"expected values of the same seeds and images but got shapes {a.shape} and "
            f"{b.shape}; align them by image"
        )
    there = ~(np.isnan(a) | np.isnan(b))
    d = [cohen_d(x[keep], y[keep]) for x, y, keep in zip(a, b, there, strict=True)]
    return compare_differences(a - b, level, resamples, seed, d)


def compare_differences(
    differences: ArrayLike,
    level: float = 1 - ALPHA,
    resamples: int = RESAMPLES,
    seed: int = 0,
    d: Sequence[float] = (),
) -> Comparison:
    """Do what `compare` does with differences, also differences of differences.

    Args:
        differences: (S, n) or (n,), NaN for a missing value.
        level: of the intervals.
        resamples: of intervals and test.
        seed: of the resampling.
        d: Cohen's d as the paper's of each seed, where known.

    >>> compare_differences([0.5, 1.5, 1.0, float("nan")]).excluded
    1
    """
    values = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    found = bootstrap(values, level, resamples, seed)
    return Comparison(
        estimate=found.images.estimate,
        images=found.images,
        seeds=found.seeds,
        per_seed=found.per_seed,
        p=sign_flip_test(values, resamples, seed + 1),
        d=float(np.mean(d)) if len(d) else float("nan"),
        d_paired=float(np.mean([cohen_d_paired(row) for row in values])),
        n=values.shape[1],
        excluded=int(np.isnan(values).sum()),
        resamples=resamples,
    )
