"""Everything a report says of two models on the same images, in one record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr
from scipy.stats import wilcoxon

from fer_lightning.errors import UserError
from fer_lightning.statistics.bootstrap import (
    ALPHA,
    BLOCK,
    RESAMPLES,
    Interval,
    bootstrap,
    seed_means,
)
from fer_lightning.statistics.trainings import NewTrainings, new_trainings

# --- Cohen's d, in the paper's way and for pairs


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


def unpaired_d(first: Floats, second: Floats) -> float:
    """Return the paper's d of (S, n) values, of the images that both have; mean over seeds."""
    there = ~np.isnan(first + second)
    d = [cohen_d(x[t], y[t]) for x, y, t in zip(first, second, there, strict=True)]
    return float(np.mean(d))


def _mean_and_sd(values: Floats) -> tuple[float, float]:
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std(ddof=1))


def _ratio(difference: float, spread: float) -> float:
    if spread == 0:
        return float("nan") if difference == 0 else float(np.copysign(np.inf, difference))
    return difference / spread


# --- The paired permutation test: would the difference be as large if models were exchanged?

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


def wilcoxon_p(differences: Floats) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test over images.

    Each image counts once, with its mean over seeds; images without a difference are left out, as
    Wilcoxon did. Like `sign_flip_test` it holds for the given trained models.

    Args:
        differences: (S, n) or (n,) first minus second, NaN where a value is missing.

    >>> wilcoxon_p(np.zeros(5)), round(wilcoxon_p(np.array([1.0, 2.0, 3.0, -4.0, 5.0, 6.0])), 4)
    (1.0, 0.2188)
    """
    values = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    means = values[:, ~np.isnan(values).any(0)].mean(0)
    means = np.round(means, DECIMALS)
    kept = means[means != 0]
    return float(wilcoxon(kept).pvalue) if len(kept) else 1.0


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


@dataclass(frozen=True)
class Comparison:
    """First model minus second, or another sum of models' means.

    Args:
        trainings: how surely it is known for new trainings of the architectures.
        level: of all intervals.
        images: its interval for these trainings as they are, over test images.
        per_seed: each training by itself, over images.
        p_images: for these trainings, of the paired permutation test over images.
        p_wilcoxon: likewise, of Wilcoxon's signed-rank test.
        d: Cohen's d as the paper's, mean over seeds; NaN where only differences are known.
        d_paired: Cohen's d of the pairs, mean over seeds.
        excluded: pairs of all seeds left out because a value is missing.
        resamples: of the intervals over images and of their test.
    """

    trainings: NewTrainings
    level: float
    images: Interval
    per_seed: tuple[Interval, ...]
    p_images: float
    p_wilcoxon: float
    d: float
    d_paired: float
    excluded: int
    resamples: int

    @property
    def estimate(self) -> float:
        """Mean over trainings of each one's mean over images."""
        return self.trainings.estimate

    @property
    def n(self) -> int:
        """Images."""
        return self.trainings.n

    @property
    def seeds(self) -> int:
        """Trainings of each model."""
        return len(self.per_seed)

    @property
    def interval(self) -> Interval:
        """For the architecture, which verdicts speak of; without ends for one training."""
        return self.trainings.interval(self.level)

    @property
    def p(self) -> float:
        """For the architecture: below 1 - level where the interval leaves 0 out.

        1 for one training, and never told finer than so many resamples could.
        """
        return max(self.trainings.p, smallest_p(self.resamples))

    @property
    def shown(self) -> Interval:
        """For the architecture; of one training, for this training."""
        return self.interval if self.seeds > 1 else self.images


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
        second: likewise, for as many trainings and the same images.
        level: of the intervals.
        resamples: of intervals over images and of their test.
        seed: of the resampling.

    Raises:
        UserError: shapes differ, or a seed has no pair.

    >>> found = compare([1, 1, 1, 0, 1, 1], [0, 0, 0, 0, 1, 0])
    >>> round(found.estimate, 3), found.n, found.images.side, found.interval.side
    (0.667, 6, 1, 0)
    """
    return compare_sum([(1, first), (-1, second)], level, resamples, seed)


def compare_differences(
    differences: ArrayLike,
    level: float = 1 - ALPHA,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Do what `compare` does where only differences, (S, n) or (n,), are known.

    >>> compare_differences([0.5, 1.5, 1.0, float("nan")]).excluded
    1
    """
    return compare_sum([(1, differences)], level, resamples, seed)


def compare_sum(
    terms: Sequence[tuple[int, ArrayLike]],
    level: float = 1 - ALPHA,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare a sum of models' means with 0, such as a lead, or a lead minus a lead.

    Args:
        terms: sign and values each, (S, n) or (n,), NaN for a missing value. Each term is trained
            by itself: its trainings are not paired with those of another.
        level: of the intervals.
        resamples: of intervals over images and of their test.
        seed: of the resampling.

    Raises:
        UserError: shapes differ, or a seed has no value.

    >>> right, wrong = [[1, 1, 1], [1, 1, 0]], [[0, 0, 0], [0, 0, 1]]
    >>> found = compare_sum([(1, right), (-1, wrong)])
    >>> round(found.estimate, 3), found.seeds
    (0.667, 2)
    """
    values = [np.atleast_2d(np.asarray(term, dtype=np.float64)) for _, term in terms]
    signs = [sign for sign, _ in terms]
    trainings = new_trainings(list(zip(signs, values, strict=True)))
    differences = np.tensordot(np.array(signs, dtype=np.float64), np.stack(values), 1)
    found = bootstrap(differences, level, resamples, seed)
    return Comparison(
        trainings=trainings,
        level=level,
        images=found.images,
        per_seed=found.per_seed,
        p_images=sign_flip_test(differences, resamples, seed + 1),
        p_wilcoxon=wilcoxon_p(differences),
        d=unpaired_d(*values) if signs == [1, -1] else float("nan"),
        d_paired=float(np.mean([cohen_d_paired(row) for row in differences])),
        excluded=int(np.isnan(differences).sum()),
        resamples=resamples,
    )
