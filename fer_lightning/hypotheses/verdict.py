"""A verdict: what was asked, what the numbers say, and by which rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fer_lightning.statistics import ALPHA, Comparison, Interval, bonferroni, holm

Outcome = Literal["supported", "not supported", "undecided"]
Number = float | int | str
Row = dict[str, Number]
Kind = Literal["test", "seed", "check", "null", "arbiter"]


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


def rule_for(what: str, tests: int, alpha: float = ALPHA) -> str:
    """Write down the rule that `judge` follows.

    >>> rule_for("accuracy difference", 3)[:63]
    "Supported where the accuracy difference's whole interval lies a"
    """
    family = f"alpha / {tests}" if tests > 1 else "alpha"
    times = f", times {tests} tests (Bonferroni)," if tests > 1 else ""
    return (
        f"Supported where the {what}'s whole interval lies above 0 and the paired permutation "
        f"test's p{times} is below alpha = {alpha:g}; not supported where the interval lies below "
        "0 and p likewise; undecided otherwise, and where a planned cell is missing. Intervals "
        f"have the level 1 - {family} and resample test images, and training seeds too where "
        "there are several."
    )


def judge(comparison: Comparison, p_adjusted: float, alpha: float = ALPHA) -> Outcome:
    """Follow the rule of `rule_for`."""
    side = comparison.interval.side
    if side == 0 or p_adjusted >= alpha:
        return "undecided"
    return "supported" if side > 0 else "not supported"


def row_of(name: str, comparison: Comparison, unit: str = "points", kind: Kind = "test") -> Row:
    """Write a comparison as a row; accuracies in points, that is percent.

    `low` and `high` are of the interval a verdict rests on, `low_images` and `high_images` of that
    over test images alone; `test` names what `p` is of: "signs" (paired permutation) or "McNemar".

    Args:
        name: what is compared.
        comparison: its numbers.
        unit: "points" multiplies shares by 100; others leave numbers as they are.
        kind: "test" of the hypothesis' family, or one of the rows beside it: a single "seed", a
            "check" of zero maps, a "null" map, the "arbiter".
    """
    scale, images = _scale(unit), comparison.images
    return {
        **interval_row(
            kind, name, comparison.interval, unit, len(comparison.per_seed), comparison.n
        ),
        "low_images": scale * images.low,
        "high_images": scale * images.high,
        "test": "signs",
        "p": comparison.p,
        "d": comparison.d,
        "d_paired": comparison.d_paired,
        "excluded": comparison.excluded,
        "resamples": comparison.resamples,
    }


def interval_row(
    kind: Kind, name: str, interval: Interval, unit: str, seeds: int, images: int
) -> Row:
    """Write an estimate and its interval as a row, without any test."""
    scale = _scale(unit)
    return {
        "kind": kind,
        "comparison": name,
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
        interval_row("seed", f"{name}, seed {seed}", interval, unit, 1, comparison.n)
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


def seed_caveats(comparison: Comparison) -> list[str]:
    """Say what so few seeds cannot say."""
    S = len(comparison.per_seed)
    if S == 1:
        return [f"The interval speaks of {comparison.speaks_of}."]
    return [
        f"{S} seeds support at most a statement for these seeds: resampling them understates "
        f"their spread by a factor of about {((S - 1) / S) ** 0.5:.2f}, and a test over seeds "
        f"alone could not give a p below {2 / 2**S:.2g}."
    ]


def in_words(row: Mapping[str, Number]) -> str:
    """Tell a row's estimate, interval and p in a sentence's part.

    >>> row = {"estimate": 9.24, "low": 7.1, "high": 11.4, "level": 0.995, "unit": "points"}
    >>> in_words(row | {"p_bonferroni": 0.0002})
    '+9.2 points (99.5 % interval +7.1 to +11.4, adjusted p 0.0002)'
    """
    digits = 1 if row["unit"] == "points" else 3
    unit = f" {row['unit']}" if row["unit"] == "points" else ""
    low, high, estimate = (f"{row[name]:+.{digits}f}" for name in ("low", "high", "estimate"))
    p = f"{row['p_bonferroni']:.2g}"
    level = f"{100 * float(row['level']):.4g}"
    return f"{estimate}{unit} ({level} % interval {low} to {high}, adjusted p {p})"
