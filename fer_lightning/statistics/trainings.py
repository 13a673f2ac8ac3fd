"""What a sum of models' means would be after training again, known from few trainings.

The same test images are shown to all trainings, so a model's easy images are paired with the
other's. Trainings are not paired: seed 42 of a CNN has nothing to do with seed 42 of a ViT, so each
term's trainings spread by themselves.

Two things are a matter of chance. Other images would have given another mean; this error is known
well from thousands of images. Other trainings would, too; this error is known badly from three. The
half width of an interval is therefore the root of two squares, each error times the quantile of
Student's t that belongs to it. docs/statistics.md has the simulations that chose this rule.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, stdtrit

from fer_lightning.errors import UserError
from fer_lightning.statistics.bootstrap import Floats, Interval, seed_means

# How much of the degrees of freedom of the terms that spread less counts. Welch and Satterthwaite
# would take more, and be wrong three times too often where one of four models spreads and others
# hardly do; 0 would take those of the widest term alone. Chosen by simulation.
CREDIT = 0.5
POWER = 0.8  # of studies that would find what we call findable
SMALLEST = 1e-100  # p that is still told from 0
DRAWS = 4000  # simulated studies behind a statement on power
MOST_TRAININGS = 100  # that a plan is told to make

Term = tuple[int, Floats]  # factor, such as -1, and values (S, n) of one model at one fraction


@dataclass(frozen=True)
class NewTrainings:
    """A sum of means, and how far it may be off for new trainings and new images."""

    estimate: float
    trainings: int  # S of each term
    # SD between the trainings of each term, times its factor; NaN for one training
    spreads: tuple[float, ...]
    df: float  # degrees of freedom of the error by trainings; 0 for one training
    image_error: float  # standard error by the choice of images
    n: int  # images

    @property
    def training_error(self) -> float:
        """Standard error by the choice of trainings."""
        return math.sqrt(sum(spread**2 for spread in self.spreads) / self.trainings)

    def half_width(self, level: float) -> float:
        """Of the interval; without end where nothing is known of other trainings or images."""
        if self.trainings < 2 or self.n < 2:
            return math.inf
        tail = (1 - level) / 2
        return float(_half_width(self.training_error, self.df, self.image_error, self.n, tail))

    def interval(self, level: float) -> Interval:
        """Where the sum lies for the architectures, new trainings and new images included."""
        reach = self.half_width(level)
        return Interval(self.estimate, self.estimate - reach, self.estimate + reach, level)

    @property
    def p(self) -> float:
        """Two-sided: intervals of a level below 1 - p leave 0 out, the others hold it."""
        size = abs(self.estimate)
        if self.trainings < 2 or self.n < 2 or size == 0:
            return 1.0

        def beyond(log_p: float) -> float:
            tail = math.exp(log_p) / 2
            return float(
                _half_width(self.training_error, self.df, self.image_error, self.n, tail) - size
            )

        lowest = math.log(SMALLEST)
        if beyond(lowest) <= 0:
            return SMALLEST
        return math.exp(brentq(beyond, lowest, 0.0, xtol=1e-12))

    def smallest_lead(self, level: float, power: float = POWER) -> float:
        """Return the size that such a study supports with this probability."""
        return smallest_lead(self.spreads, self.trainings, self.image_error, level, power)


def _half_width(
    trainings: Floats | float, df: Floats | float, images: float, n: float, tail: float
) -> Floats:
    """Combine two standard errors; `tail` is the probability beyond each end."""
    by_trainings = stdtrit(df, tail) * trainings
    by_images = stdtrit(n - 1, tail) * images
    return np.asarray(np.hypot(by_trainings, by_images))


def new_trainings(terms: Sequence[Term]) -> NewTrainings:
    """Say how surely a sum of means over trainings and images is known.

    A term's trainings are taken to spread at least as much as their answers to single images must
    make them: two that agree by chance are no proof that all do.

    Args:
        terms: factor and values (S, n) each, the same images in all; NaN for a missing value, which
            takes the values of all terms for that image and place in S with it.

    Raises:
        UserError: shapes differ, or a training has no value.

    >>> rng = np.random.default_rng(0)
    >>> cnn, vit = (rng.random((3, 1000)) < share for share in (0.7, 0.3))
    >>> found = new_trainings([(1, cnn), (-1, vit)])
    >>> found.interval(0.995).side, found.trainings, 2 <= found.df <= 3
    (1, 3, True)
    >>> new_trainings([(1, cnn[:1]), (-1, vit[:1])]).interval(0.995).low
    -inf
    """
    values = np.stack(_same_shape([np.asarray(term, dtype=np.float64) for _, term in terms]))
    signs = np.array([sign for sign, _ in terms], dtype=np.float64)
    there = ~np.isnan(values).any(0)  # (S, n)
    values = np.where(there, values, np.nan)  # (K, S, n)
    S, n = there.shape
    means = np.stack([seed_means(term) for term in values])  # (K, S)
    estimate = float(signs @ means.mean(1))
    counts = there.sum(1)  # (S,)
    # what each image adds to the estimate, about its mean: (n,)
    apart = np.tensordot(signs, values, 1) - (signs @ means)[:, None]
    shares = (np.where(there, apart, 0.0) / counts[:, None]).sum(0) / S
    image_error = math.sqrt(n / (n - 1) * float(shares @ shares)) if n > 1 else math.nan
    if S < 2:
        return NewTrainings(estimate, S, (math.nan,) * len(terms), 0.0, image_error, n)
    variances = signs**2 * means.var(1, ddof=1)  # (K,)
    single = np.array([_by_single_images(term, float(counts.mean())) for term in values])
    floors = signs**2 * single
    spreads = np.sqrt(np.maximum(variances, floors))
    df = float(degrees_of_freedom(variances[None], S)[0])
    return NewTrainings(estimate, S, tuple(spreads.tolist()), df, image_error, n)


def _same_shape(values: list[Floats]) -> list[Floats]:
    shapes = list(dict.fromkeys(term.shape for term in values))
    if len(shapes) > 1 or len(shapes[0]) != 2:
        raise UserError(
            f"expected values of the same seeds and images but got shapes "
            f"{' and '.join(map(str, shapes))}; align them by image"
        )
    return values


def _by_single_images(values: Floats, images: float) -> float:
    """Return the variance between trainings, (S, n), that unrelated changes of images make."""
    several = (~np.isnan(values)).sum(0) > 1
    if not several.any():
        return 0.0
    variance = np.var if several.all() and not np.isnan(values).any() else np.nanvar
    return float(variance(values[:, several], axis=0, ddof=1).mean() / images)


def degrees_of_freedom(variances: Floats, trainings: int) -> Floats:
    """Count how surely a sum's spread between trainings is known, from S - 1 upwards.

    With w the largest term's share of the variance: (S - 1) (1 + CREDIT (1 / w - 1)). Where one
    term has all of it, what the others showed says nothing of its spread.

    Args:
        variances: (B, K) of each term's trainings.
        trainings: S of each term.

    Returns:
        (B,).

    >>> degrees_of_freedom(np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]), 3).tolist()
    [3.0, 2.0, 2.0]
    """
    total, largest = variances.sum(1), variances.max(1)
    others = np.divide(total - largest, largest, out=np.zeros_like(total), where=largest > 0)
    return np.asarray((trainings - 1) * (1 + CREDIT * others))


# --- Power: what a study of so many trainings could find


def power_of(
    lead: float, spreads: Sequence[float], trainings: int, image_error: float, level: float
) -> float:
    """Return the share of studies that find a true lead: the whole interval lies above 0.

    Args:
        lead: the true sum.
        spreads: SD between the trainings of each term, in the same unit.
        trainings: S of each term.
        image_error: standard error of the sum by the choice of images.
        level: of the interval.

    >>> power_of(3.0, [1.0, 1.0], 3, 0.7, 0.995) < 0.1 < 0.9 < power_of(3.0, [0, 0], 3, 0.7, 0.995)
    True
    """
    widths = _drawn_half_widths(spreads, trainings, image_error, level)
    error = math.sqrt(sum(s**2 for s in spreads) / trainings + image_error**2)
    return _share_found(lead, widths, error)


def _share_found(lead: float, widths: Floats, error: float) -> float:
    if error == 0:
        return float((widths < lead).mean())
    return float(ndtr((lead - widths) / error).mean())


def _drawn_half_widths(
    spreads: Sequence[float], trainings: int, image_error: float, level: float
) -> Floats:
    """Draw half widths of studies whose spreads are known, (DRAWS,)."""
    if trainings < 2:
        return np.full(DRAWS, np.inf)
    rng = np.random.default_rng(0)
    drawn = rng.chisquare(trainings - 1, (DRAWS, len(spreads))) / (trainings - 1)
    variances = drawn * np.square(np.asarray(spreads, dtype=np.float64))
    df = degrees_of_freedom(variances, trainings)
    error = np.sqrt(variances.sum(1) / trainings)
    return _half_width(error, df, image_error, math.inf, (1 - level) / 2)


def smallest_lead(
    spreads: Sequence[float],
    trainings: int,
    image_error: float,
    level: float,
    power: float = POWER,
) -> float:
    """Return the lead that is found with this probability; arguments as for `power_of`."""
    widths = _drawn_half_widths(spreads, trainings, image_error, level)
    error = math.sqrt(sum(s**2 for s in spreads) / trainings + image_error**2)
    highest = float(widths.max()) + 10 * error
    if not 0 < highest < math.inf:
        return highest
    found = brentq(lambda lead: _share_found(lead, widths, error) - power, 0.0, highest)
    return float(found)


def trainings_needed(
    lead: float, spreads: Sequence[float], image_error: float, level: float, power: float = POWER
) -> int | None:
    """Return how many trainings of each model find a lead; None if more than `MOST_TRAININGS`.

    >>> trainings_needed(10.0, [1.0, 1.0], 0.7, 0.995), trainings_needed(0.1, [1, 1], 0.7, 0.995)
    (4, None)
    """
    for S in range(2, MOST_TRAININGS + 1):
        if power_of(lead, spreads, S, image_error, level) >= power:
            return S
    return None
