"""What takes a verdict on focus back: maps that know nothing, and what hiding the region costs."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from fer_lightning.hypotheses.evidence import Floats, Focus, Group, Key, align
from fer_lightning.hypotheses.focus_measures import deciding, title_of
from fer_lightning.hypotheses.verdict import Row, interval_row, trainings_row
from fer_lightning.statistics import (
    ALPHA,
    Interval,
    bootstrap,
    compare_differences,
    family_level,
)

ARBITER_RULE = (
    "The arbiter hides the region, and random patches of the same area, and takes by how much more "
    "the true class's logit, minus the mean over classes, drops; a common shift of all logits does "
    "not change it. It contradicts where that excess lies below 0 for the model said to look more, "
    "or lies below the other model's, each divided by its own SD over images because logits of two "
    "models have no common unit (whole interval for these trainings, under any fill)."
)


class NullComparison(NamedTuple):
    """One model beside its null maps."""

    above_twins: bool | None  # its interval lies above all untrained twins; None without any
    above_blobs: bool | None  # likewise for blobs of heat at the centre
    rows: list[Row]


def compare_with_nulls(name: str, focus: Sequence[Focus], alpha: float) -> NullComparison:
    """Compare a model's mean of the deciding measure with that of its null maps.

    Null maps are known by their mean only, whose own spread over images is left out; the highest
    of each kind counts, over twins and over the model's seeds.
    """
    values = [made for one in focus if (made := deciding(one)) is not None]
    if not values:
        return NullComparison(None, None, [])
    level = family_level(1, alpha)
    means = [bootstrap(of_images, level).images for of_images in values]
    # without training again: the lowest and highest end over seeds
    own = Interval(
        float(np.mean([mean.estimate for mean in means])),
        min(mean.low for mean in means),
        max(mean.high for mean in means),
        level,
    )
    nulls: dict[str, float] = {}
    for one in focus:
        for null, value in one.nulls.items():
            if not np.isnan(value):
                nulls[null] = max(value, nulls.get(null, -np.inf))
    regions = focus[0].regions
    what = f"mass ratio of {regions.title(regions.primary)}, matched: {name}"
    apart = {
        null: Interval(own.estimate - value, own.low - value, own.high - value, level)
        for null, value in nulls.items()
    }
    rows = [
        interval_row("null", f"{what} beside {null}", gap, "", len(focus), len(focus[0].ids))
        | {"method": focus[0].method}
        for null, gap in apart.items()
    ]
    return NullComparison(_above(own, nulls, "untrained"), _above(own, nulls, "gaussian"), rows)


def _above(own: Interval, nulls: dict[str, float], kind: str) -> bool | None:
    values = [value for null, value in nulls.items() if null.startswith(kind)]
    return own.low > max(values) if values else None


class Arbitration(NamedTuple):
    """What the arbiter says."""

    contradicts: tuple[bool, bool]  # that the first model, that the second looks more
    depends: tuple[bool, bool]  # hiding costs each model more than patches do, under every fill
    rows: list[Row]


def arbitrate(
    first: Mapping[str, Floats],
    second: Mapping[str, Floats],
    names: tuple[str, str],
    alpha: float = ALPHA,
    region: str = "KEY",
) -> Arbitration:
    """Ask what hiding the region cost each model, given as (S, n) excess by fill.

    Intervals have the level 1 - alpha and are those for these trainings, which are narrower than
    for the architecture: contradiction only ever takes an answer back.

    >>> rng = np.random.default_rng(0)
    >>> much, none = rng.normal(1.0, 1.0, (1, 99)), rng.normal(0.0, 1.0, (1, 99))
    >>> found = arbitrate({"mean": much}, {"mean": none}, ("cnn", "vit"))
    >>> found.contradicts, found.depends
    ((False, True), (True, False))
    """
    level = family_level(1, alpha)
    rows: list[Row] = []
    sides = []  # by fill: of each model's own interval, and of their difference
    for fill in first:
        own = [compare_differences(excess[fill], level) for excess in (first, second)]
        apart = compare_differences(_scaled(first[fill]) - _scaled(second[fill]), level)
        title = f"hiding {region} ({fill}) beyond random patches"
        rows += [
            trainings_row(f"{title}, {name}", found, "centred logit", "arbiter")
            for name, found in zip(names, own, strict=True)
        ]
        rows.append(trainings_row(f"{title}, {names[0]} minus {names[1]}", apart, "SDs", "arbiter"))
        sides.append([found.images.side for found in (*own, apart)])
    return Arbitration(
        (
            any(a < 0 or apart < 0 for a, _, apart in sides),
            any(b < 0 or apart > 0 for _, b, apart in sides),
        ),
        (all(a > 0 for a, _, _ in sides), all(b > 0 for _, b, _ in sides)),
        rows,
    )


def _scaled(excess: Floats) -> Floats:
    """Divide each seed's values, (S, n), by their SD over images."""
    spread = np.nanstd(excess, axis=1, ddof=1, keepdims=True)
    return excess / np.where(spread > 0, spread, 1.0)


def ask_arbiter(
    found: Mapping[Key, Focus], groups: Sequence[Group], seeds: Sequence[int], alpha: float
) -> Arbitration | None:
    """Ask what hiding did to two models; None where it was not measured for all of these cells."""
    cells = [found[*group, seed] for group in groups for seed in seeds]
    fills = [
        fill
        for fill in cells[0].excess
        if all(fill in cell.excess and not np.isnan(cell.excess[fill]).all() for cell in cells)
    ]
    if not fills:
        return None
    values = {fill: align(found, groups, seeds, partial(_excess, fill=fill)) for fill in fills}
    first, second = (
        {fill: v.values[place] for fill, v in values.items() if v is not None} for place in (0, 1)
    )
    return arbitrate(first, second, (groups[0][0], groups[1][0]), alpha, title_of(found))


def _excess(cell: Focus, fill: str) -> Floats:
    return cell.excess[fill]
