"""The family of tests of H2: four measures at two resolutions, and their checks."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from fer_lightning.data.regions import FACE
from fer_lightning.hypotheses.evidence import RESOLUTIONS, Floats, Focus, Key, Resolution, align
from fer_lightning.hypotheses.verdict import Row, row_of
from fer_lightning.statistics import Comparison, compare, mcnemar

LOG_FLOOR = 1e-8  # smaller ratios count as this one, as in the focus table


class Measure(Protocol):
    """One number for each image, (n,), at a resolution."""

    def __call__(self, focus: Focus, at: Resolution) -> Floats: ...  # noqa: D102


def log_lfr(lfr: Floats) -> Floats:
    """Return the natural logarithm, NaN for zero maps.

    >>> log_lfr(np.array([1.0, 0.0, np.nan])).round(2).tolist()
    [0.0, -18.42, nan]
    """
    return np.log(np.maximum(lfr, LOG_FLOOR))


def at_least_1(lfr: Floats) -> Floats:
    """Return 1 for ratios of at least 1, else 0, NaN for zero maps."""
    return np.where(np.isnan(lfr), np.nan, lfr >= 1)


def at_limits(*several: Floats) -> int:
    """Count maps with no heat inside or none outside, whose logarithm only a limit makes finite.

    >>> at_limits(np.array([1.0, 0.0, np.nan, 1e8]))
    2
    """
    with np.errstate(invalid="ignore"):
        return sum(int((abs(log_lfr(lfr)) > -0.9 * np.log(LOG_FLOOR)).sum()) for lfr in several)


MEASURES: dict[str, Measure] = {
    "LFR": lambda focus, at: focus.primary(at),
    "log LFR": lambda focus, at: log_lfr(focus.primary(at)),
    "share LFR >= 1": lambda focus, at: at_least_1(focus.primary(at)),
    "LSI": lambda focus, at: focus.lsi[at],
}
ZEROS_IN: dict[str, Measure] = {  # no logarithm: that of 0 is whatever one sets it to
    "LFR": lambda focus, at: np.nan_to_num(focus.primary(at)),
    "share LFR >= 1": lambda focus, at: at_least_1(np.nan_to_num(focus.primary(at))),
    "LSI": lambda focus, at: np.nan_to_num(focus.lsi[at]),
}
TESTS = len(MEASURES) * len(RESOLUTIONS)  # at one fraction


class Measured(NamedTuple):
    """A measure compared, with its row and the seeds."""

    name: str
    resolution: Resolution
    comparison: Comparison
    row: Row
    seeds: tuple[int, ...]


def compare_focus(
    found: Mapping[Key, Focus],
    groups: Sequence[tuple[str, float]],
    seeds: Sequence[int],
    level: float,
    resamples: int,
    zeros_in: bool = False,
) -> list[Measured]:
    """Compare two models in every measure and resolution.

    Shares are tested by McNemar's exact test where there is one seed. With several, the same
    images come once for each seed and are not independent, so images are flipped for all at once.
    Nothing is compared without a common seed. `zeros_in` counts a zero map as 0 in place of leaving
    its pair out.
    """
    results = []
    region = title_of(found)
    suffix = ", zero maps as 0" if zeros_in else ""
    for at in RESOLUTIONS:
        for name, measure in (ZEROS_IN if zeros_in else MEASURES).items():
            there = {key: focus for key, focus in found.items() if _has(focus, name, at)}
            values = align(there, groups, seeds, partial(measure, at=at))
            if values is None or _empty(*values.values):
                continue
            first, second = values.values
            comparison = compare(first, second, level, resamples)
            row = row_of(
                f"{name} of {region}, {at}{suffix}",
                comparison,
                "",
                "check" if zeros_in else "test",
            )
            if name.startswith("share") and len(values.seeds) == 1:
                pair = ~np.isnan(first[0] + second[0])
                exact = mcnemar(first[0][pair] == 1, second[0][pair] == 1)
                row |= {"test": "McNemar", "p": exact.p}
            row |= {"first": _mean(first, second), "second": _mean(second, first)}
            results.append(Measured(name, at, comparison, row, values.seeds))
    return results


def title_of(found: Mapping[Key, Focus]) -> str:
    """Name the primary region for readers: KEY for faces."""
    regions = next((focus.regions for focus in found.values()), FACE)
    return regions.title(regions.primary)


def _has(focus: Focus, name: str, at: Resolution) -> bool:
    return at in focus.lsi if name == "LSI" else focus.has(at)


def _mean(values: Floats, other: Floats) -> float:
    """Return the mean over pairs and then seeds."""
    return float(np.nanmean(np.where(np.isnan(other), np.nan, values), axis=1).mean())


def _empty(first: Floats, second: Floats) -> bool:
    """Whether a seed has no pair at all."""
    return bool(np.isnan(first + second).all(axis=1).any())
