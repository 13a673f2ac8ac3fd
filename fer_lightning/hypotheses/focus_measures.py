"""The measure that decides H2, and the others that stand beside it.

The mass ratio decides: the region's share of a map's heat over its share of the area, on maps
averaged to one grid. Why this one:

- It is bounded, by 0 and one over the region's share of the area, so no single map can decide a
  mean. Log LFR is not: two maps of 600 without any heat inside the region, and the constant that
  stands for the logarithm of 0, once decided a verdict.
- A map without heat tells nothing, and 1 says just that: it is what a uniform map scores. No pair
  is dropped, and a model whose maps are empty is neither rewarded nor punished beyond it. The same
  with zero maps left out stands beside, and a verdict holds only where both agree.
- Where the truth is known it follows it best: see `known_truth.csv` and docs/known_truth.md. By it
  methods pass for CNN and ViT alike that do not by mask AUC, the other bounded measure.

Everything else is printed beside it to show how far the answer depends on the measure.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from fer_lightning.data.regions import FACE, Regions
from fer_lightning.hypotheses.evidence import (
    Aligned,
    Floats,
    Focus,
    Group,
    Key,
    Resolution,
    align,
)
from fer_lightning.hypotheses.verdict import (
    ARCHITECTURE,
    TRAINING,
    Row,
    interval_row,
    row_of,
    trainings_row,
)
from fer_lightning.statistics import (
    Comparison,
    Interval,
    bootstrap,
    compare,
    family_level,
    family_resamples,
    new_trainings,
    unpaired_d,
)

DECIDING = "mass"  # its name in the table of known truth
NEUTRAL = 1.0  # what a map scores that tells nothing
RELEVANT = 0.1  # a tenth of what evenly spread heat has
FLOORS = (1e-8, 1e-4, 1e-2)  # of LFR in its logarithm


def values_of(
    focus: Focus, name: str, at: Resolution, zero: float | None = None, every: bool = False
) -> Floats | None:
    """Return a measure of the primary region image by image, (n,); None where nobody kept it.

    Images whose regions are a template's are left out (NaN) where others have regions of their own.

    Args:
        focus: of one cell and method.
        name: "auc", "mass", "lfr" or "lsi".
        at: which resolution of the maps.
        zero: what a zero map counts as; None leaves it out (NaN).
        every: keep the images with a template's regions.
    """
    by_region = {"auc": focus.auc, "mass": focus.mass, "lfr": focus.lfr}
    primary = focus.regions.primary
    found = focus.lsi.get(at) if name == "lsi" else by_region[name].get((at, primary))
    if found is None:
        return None
    filled = found if zero is None else np.where(np.isnan(found), zero, found)
    own = focus.per_image
    return np.where(own, filled, np.nan) if own.any() and not every else filled


def deciding(focus: Focus) -> Floats | None:
    """Return the measure that decides, (n,)."""
    return values_of(focus, DECIDING, "matched", NEUTRAL)


def log_lfr(focus: Focus, floor: float) -> Floats | None:
    """Return log LFR on one grid with ratios limited to floor and 1 / floor; zero maps are NaN."""
    lfr = values_of(focus, "lfr", "matched")
    return None if lfr is None else np.log(np.clip(lfr, floor, 1 / floor))


def at_least_1(focus: Focus) -> Floats | None:
    """Return 1 where LFR on one grid is at least 1, else 0, also for zero maps."""
    lfr = values_of(focus, "lfr", "matched", 0.0)
    return None if lfr is None else np.where(np.isnan(lfr), np.nan, lfr >= 1)


Value = Callable[[Focus], Floats | None]
MAIN = "mass ratio of {}, matched, zero maps as 1"
ZEROS_OUT = "mass ratio of {}, matched, zero maps left out"
NATIVE = "mass ratio of {}, each map's own grid, zero maps as 1"
TEMPLATE_TOO = "mass ratio of {}, matched, also images with a template's regions"
CHECKS: dict[str, Value] = {
    ZEROS_OUT: partial(values_of, name=DECIDING, at="matched"),
    NATIVE: partial(values_of, name=DECIDING, at="native", zero=NEUTRAL),
    TEMPLATE_TOO: partial(values_of, name=DECIDING, at="matched", zero=NEUTRAL, every=True),
    "mask AUC of {}, matched, zero maps as 0.5": partial(
        values_of, name="auc", at="matched", zero=0.5
    ),
    "mask AUC of {}, matched, zero maps left out": partial(values_of, name="auc", at="matched"),
    **{
        f"log LFR of {{}}, matched, floor {floor:g}, zero maps left out": partial(
            log_lfr, floor=floor
        )
        for floor in FLOORS
    },
    "share LFR >= 1 of {}, matched, zero maps as 0": at_least_1,
    "LFR of {}, each map's own grid, zero maps left out": partial(
        values_of, name="lfr", at="native"
    ),
    "LFR of {}, matched, zero maps left out": partial(values_of, name="lfr", at="matched"),
    "LSI of {}, matched, zero maps as 0": partial(values_of, name="lsi", at="matched", zero=0.0),
}


class Family(NamedTuple):
    """The tests that belong together."""

    tests: int
    alpha: float

    @property
    def level(self) -> float:
        """Of each interval."""
        return family_level(self.tests, self.alpha)

    @property
    def resamples(self) -> int:
        """Of each interval and test."""
        return family_resamples(self.tests, self.alpha)


class Decided(NamedTuple):
    """The deciding measure of two models under one method."""

    comparison: Comparison
    row: Row  # for the architecture
    trainings_row: Row  # for these trainings
    seeds: tuple[int, ...]
    zero_maps: tuple[int, int]  # of each model, over all seeds

    @property
    def told(self) -> Row:
        """The row that sentences tell: for the architecture, if there are several trainings."""
        return self.row if self.comparison.seeds > 1 else self.trainings_row


class Check(NamedTuple):
    """Another measure beside it."""

    interval: Interval
    row: Row


def decide(
    method: str,
    found: Mapping[Key, Focus],
    groups: Sequence[Group],
    seeds: Sequence[int],
    family: Family,
) -> Decided | None:
    """Compare two models in the measure that decides; None where nobody kept it."""
    both = _aligned(found, groups, seeds, deciding)
    if both is None:
        return None
    first, second = both.values
    comparison = compare(first, second, family.level, family.resamples)
    name = MAIN.format(title_of(found))
    means: Row = {"method": method, "first": _mean(first), "second": _mean(second)}
    rows = (row_of(name, comparison, "") | means, trainings_row(name, comparison, "") | means)
    zero = [sum(_zero_maps(found[*group, seed]) for seed in both.seeds) for group in groups]
    return Decided(comparison, *rows, both.seeds, (zero[0], zero[1]))


def check(
    method: str,
    found: Mapping[Key, Focus],
    groups: Sequence[Group],
    seeds: Sequence[int],
    family: Family,
) -> dict[str, Check]:
    """Compare two models in the other measures.

    They do not decide, so they have intervals, of the same level, but no p: for the architecture,
    of one training for this training. What nobody kept, or what has no pair for a seed, is left
    out.
    """
    mixed = any(focus.per_image.any() and not focus.per_image.all() for focus in found.values())
    several = {
        name: both
        for name, value in CHECKS.items()
        if (mixed or name != TEMPLATE_TOO)
        and (both := _aligned(found, groups, seeds, value)) is not None
    }
    results: dict[str, Check] = {}
    for name, both in several.items():
        first, second = both.values
        alone = len(both.seeds) == 1
        if alone:
            interval = bootstrap(first - second, family.level, family.resamples).images
        else:
            interval = new_trainings([(1, first), (-1, second)]).interval(family.level)
        title, speaks_of = name.format(title_of(found)), TRAINING if alone else ARCHITECTURE
        S, n = len(both.seeds), first.shape[1]
        row = interval_row("check", title, interval, "", S, n, speaks_of)
        missing = int(np.isnan(first + second).sum())
        row |= {"method": method, "d": unpaired_d(first, second), "excluded": missing}
        results[name] = Check(interval, row)
    return results


def _aligned(
    found: Mapping[Key, Focus], groups: Sequence[Group], seeds: Sequence[int], value: Value
) -> Aligned | None:
    """Bring a measure to the same seeds and images; None without a pair for each seed."""
    values = {key: made for key, focus in found.items() if (made := value(focus)) is not None}
    there = {key: found[key] for key in values}
    both = align(there, groups, seeds, lambda one: values[one.model, one.fraction, one.seed])
    if both is None or np.isnan(both.values[0] + both.values[1]).all(axis=1).any():
        return None
    return both


def _zero_maps(focus: Focus) -> int:
    """Count the images whose map is zero, of those that take part."""
    filled, rest = deciding(focus), values_of(focus, DECIDING, "matched")
    if filled is None or rest is None:
        return 0
    return int(np.isnan(rest).sum() - np.isnan(filled).sum())


def _mean(values: Floats) -> float:
    return float(np.nanmean(values, axis=1).mean())


def regions_of(found: Mapping[Key, Focus]) -> Regions:
    """Return the regions that maps were measured with; a face's where there are no maps."""
    return next((focus.regions for focus in found.values()), FACE)


def title_of(found: Mapping[Key, Focus]) -> str:
    """Name the primary region for readers: KEY for faces."""
    regions = regions_of(found)
    return regions.title(regions.primary)
