"""A verdict: what was asked, what the numbers say, and by which rule."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fer_lightning.statistics import ALPHA, Comparison, Interval, bonferroni, holm

Outcome = Literal["supported", "not supported", "undecided"]
Undecided = Literal["", "missing", "contradiction", "no effect", "no power"]  # "": it is decided
Number = float | int | str
Row = dict[str, Number]
Kind = Literal["test", "trainings", "seed", "check", "null", "arbiter"]
MOST = 100  # points by which two accuracies can differ
ARCHITECTURE, TRAININGS, TRAINING = "the architecture", "these trainings", "this training"
# What every rule says of the two rows of a comparison.
TWO_ROWS = (
    "The row for the architecture speaks of new trainings: its interval adds what test images and "
    "what trainings, which are not paired between models, leave open (Student's t, degrees of "
    "freedom from S - 1 upwards for S trainings), its p is that of the same interval, and it needs "
    "two trainings of each model. The row for these trainings resamples test images alone, has the "
    "p of a paired permutation test, and decides nothing."
)


@dataclass(frozen=True)
class Verdict:
    """The answer to one hypothesis."""

    hypothesis: str  # such as "H1a"
    statement: str  # what is claimed
    outcome: Outcome  # derived by the rule
    reason: str  # in a sentence, how the numbers led there
    rule: str  # the rule, in words
    numbers: list[Row] = field(default_factory=list)  # rows of a table, see `row_of`
    caveats: list[str] = field(default_factory=list)  # what a reader must know beside it
    missing: list[str] = field(default_factory=list)  # planned cells that are not there
    kind: Undecided = ""  # why it is undecided, where the rule tells it


def rule_for(what: str, tests: int, alpha: float = ALPHA) -> str:
    """Write down the rule that `judge` follows.

    >>> rule_for("accuracy difference", 3)[:63]
    "Supported where the accuracy difference's whole interval for th"
    """
    family = f"alpha / {tests}" if tests > 1 else "alpha"
    times = f", times {tests} tests (Bonferroni)," if tests > 1 else ""
    return (
        f"Supported where the {what}'s whole interval for the architecture, of the level "
        f"1 - {family}, lies above 0, so that its p{times} is below alpha = {alpha:g}; not "
        "supported where it lies below 0; undecided otherwise, where a planned cell is missing, "
        f"and with one training of each model. {TWO_ROWS}"
    )


def judge(comparison: Comparison, p_adjusted: float, alpha: float = ALPHA) -> Outcome:
    """Follow the rule of `rule_for`."""
    side = comparison.interval.side
    if side == 0 or p_adjusted >= alpha:
        return "undecided"
    return "supported" if side > 0 else "not supported"


def row_of(name: str, comparison: Comparison, unit: str = "points", kind: Kind = "test") -> Row:
    """Write a comparison as the row for the architecture; accuracies in points, that is percent.

    With one training of each model it has no interval (its ends are infinite) and p = 1.

    Args:
        name: what is compared.
        comparison: its numbers.
        unit: "points" multiplies shares by 100; others leave numbers as they are.
        kind: "test" of the hypothesis' family, or one of the rows beside it: "trainings" for these
            trainings as they are, a single "seed", a "check" of zero maps, a "null" map, the
            "arbiter".
    """
    interval = comparison.interval
    return {
        **interval_row(kind, name, interval, unit, comparison.seeds, comparison.n, ARCHITECTURE),
        "test": "t",
        "p": comparison.p,
        **_effects(comparison),
    }


def trainings_row(
    name: str, comparison: Comparison, unit: str = "points", kind: Kind = "trainings"
) -> Row:
    """Write a comparison as the row for these trainings; arguments as for `row_of`."""
    images = comparison.images
    return {
        **interval_row(kind, name, images, unit, comparison.seeds, comparison.n, TRAININGS),
        "test": "signs",
        "p": comparison.p_images,
        "p_wilcoxon": comparison.p_wilcoxon,
        **_effects(comparison),
        "resamples": comparison.resamples,
    }


def _effects(comparison: Comparison) -> Row:
    return {
        "d": comparison.d,
        "d_paired": comparison.d_paired,
        "excluded": comparison.excluded,
    }


def interval_row(
    kind: Kind,
    name: str,
    interval: Interval,
    unit: str,
    seeds: int,
    images: int,
    speaks_of: str = TRAININGS,
) -> Row:
    """Write an estimate and its interval as a row, without any test."""
    scale = _scale(unit)
    return {
        "kind": kind,
        "comparison": name,
        "for": speaks_of,
        "unit": unit,
        "estimate": scale * interval.estimate,
        "low": scale * interval.low,
        "high": scale * interval.high,
        "level": interval.level,
        "n": images,
        "seeds": seeds,
    }


def _scale(unit: str) -> int:
    return 100 if unit == "points" else 1


def seed_rows(
    name: str, comparison: Comparison, seeds: Sequence[int], unit: str = "points"
) -> list[Row]:
    """Write each seed of a comparison as a row of its own, with its interval over images."""
    return [
        interval_row("seed", f"{name}, seed {seed}", interval, unit, 1, comparison.n, TRAINING)
        for seed, interval in zip(seeds, comparison.per_seed, strict=True)
    ]


def adjust(rows: Sequence[Row], tests: int) -> list[Row]:
    """Add p adjusted for a family of tests, of which some may still be missing (p = 1).

    >>> adjust([{"p": 0.125}], tests=2)
    [{'p': 0.125, 'p_bonferroni': 0.25, 'p_holm': 0.25}]
    """
    p = [float(row["p"]) for row in rows] + [1.0] * (tests - len(rows))
    return [
        row | {"p_bonferroni": simple, "p_holm": stepped}
        for row, simple, stepped in zip(rows, bonferroni(p), holm(p), strict=False)
    ]


def seed_caveats(comparison: Comparison, unit: str = "points") -> list[str]:
    """Say what so few trainings cannot say; of one the verdict itself says it."""
    return [_limits(comparison, unit)] if comparison.seeds > 1 else []


ONE_TRAINING = (
    "One training of each model says nothing of how much the next would differ, so there is no "
    "interval for the architecture and no verdict."
)
MORE_SEEDS = "Train at least two seeds; `fer-lightning study FILE --dry-run` says how many to plan."


def most_points(terms: int) -> float:
    """Return the largest difference there is: that of two accuracies, or of two such differences.

    >>> most_points(2), most_points(4)
    (100.0, 200.0)
    """
    return MOST * max(terms / 2, 1.0)


def _limits(comparison: Comparison, unit: str) -> str:
    """Tell the smallest difference that these trainings could support, and could be sure to."""
    known = comparison.trainings
    least, sure = known.half_width(comparison.level), known.smallest_lead(comparison.level)
    most = most_points(len(known.spreads)) / _scale(unit) if unit == "points" else math.inf
    if least > most:
        return (
            f"Here no difference at all could be supported, for it would have to be above "
            f"{_size(most, unit, 0)}, more than there are; train more than {comparison.seeds} "
            "seeds, or until trainings of a model differ less."
        )
    such = f"with {comparison.seeds} trainings of each model that spread as these do,"
    found = f"one under {_size(sure, unit)} is found in fewer than 80 % of studies"
    never = "none is found in 80 % of studies"
    return (
        f"Here no difference under {_size(least, unit)} could be supported; {such} "
        f"{found if sure <= most else never}."
    )


def _size(value: float, unit: str, digits: int = 1) -> str:
    scaled = _scale(unit) * value
    return f"{scaled:.{digits}f} points" if unit == "points" else f"{scaled:.3f}"


def in_words(row: Mapping[str, Number]) -> str:
    """Tell a row's estimate, interval and p in a sentence's part.

    >>> row = {"estimate": 9.24, "low": 7.1, "high": 11.4, "level": 0.995, "unit": "points"}
    >>> in_words(row | {"p_bonferroni": 0.0002})
    '+9.2 points (99.5 % interval +7.1 to +11.4, adjusted p 0.0002)'
    >>> in_words(row | {"low": -math.inf, "high": math.inf, "p_bonferroni": 1.0})
    '+9.2 points (no interval for the architecture)'
    >>> in_words(row | {"low": -2725.1, "high": 2743.6, "p_bonferroni": 1.0})
    '+9.2 points (99.5 % interval wider than -100 to +100, adjusted p 1)'
    """
    digits = 1 if row["unit"] == "points" else 3
    unit = f" {row['unit']}" if row["unit"] == "points" else ""
    low, high, estimate = (f"{row[name]:+.{digits}f}" for name in ("low", "high", "estimate"))
    if not math.isfinite(float(row["low"])):
        return f"{estimate}{unit} (no interval for the architecture)"
    p = f"{row['p_bonferroni']:.2g}"
    level = f"{100 * float(row['level']):.4g}"
    ends = f"{low} to {high}"
    if unit and float(row["low"]) < -MOST < MOST < float(row["high"]):
        ends = f"wider than -{MOST} to +{MOST}"
    return f"{estimate}{unit} ({level} % interval {ends}, adjusted p {p})"


def no_power(comparison: Comparison, unit: str = "") -> str:
    """Say which difference could not have been seen.

    >>> from fer_lightning.statistics import compare
    >>> no_power(compare([[1, 0, 1], [1, 1, 0]], [[0, 1, 1], [1, 0, 0]]))[:35]
    'No power: here no difference under '
    """
    limits = _limits(comparison, unit)
    return f"No power: {limits[0].lower()}{limits[1:]}"
