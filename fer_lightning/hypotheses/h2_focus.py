"""H2: does one model look more at the regions that matter than the other?"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from fer_lightning.data.regions import FACE
from fer_lightning.hypotheses.evidence import Evidence, Floats, Focus, Key, align, missing_cells
from fer_lightning.hypotheses.focus_measures import (
    TESTS,
    Measured,
    at_limits,
    compare_focus,
    log_lfr,
    title_of,
)
from fer_lightning.hypotheses.registry import TwoModels, hypothesis
from fer_lightning.hypotheses.verdict import (
    Row,
    Verdict,
    adjust,
    in_words,
    interval_row,
    judge,
    row_of,
    rule_for,
    seed_caveats,
    seed_rows,
)
from fer_lightning.statistics import (
    ALPHA,
    Interval,
    bootstrap,
    compare_differences,
    family_level,
    family_resamples,
)

ARBITER_RULE = (
    "The arbiter hides the region, and random patches of the same area, and takes by how much "
    "more the true class's logit drops. It contradicts where that excess lies below 0 for the "
    "first model, or lies below the second model's, each divided by its own SD over images "
    "because logits of two models have no common unit (whole interval, under any fill)."
)
GATES = (
    "The difference is that of log LFR with all maps averaged to one grid, because LFR "
    "itself grows with a map's resolution and one map without heat outside decides its mean. "
    "Support is taken back, to undecided, where the share of images with LFR >= 1 with zero maps "
    "counted as 0 points the other way, where LSI on the same grid does, where the first model is "
    "not above its own untrained twins, where the arbiter contradicts, or where twins or arbiter "
    "are missing."
)


class NullComparison(NamedTuple):
    """One model beside its null maps."""

    above_twins: bool | None  # its interval lies above all untrained twins; None without any
    above_blobs: bool | None  # likewise for blobs of heat at the centre
    rows: list[Row]


def compare_with_nulls(name: str, focus: Sequence[Focus], alpha: float) -> NullComparison:
    """Compare a model's mean log LFR of the primary region, on one grid, with its null maps'.

    Null maps are known by their mean only, whose own spread over images is left out; the highest
    of each kind counts, over twins and over the model's seeds.
    """
    usable = [f for f in focus if not np.isnan(f.primary("matched")).all()]
    if not usable:
        return NullComparison(None, None, [])
    means = [
        bootstrap(log_lfr(f.primary("matched")), family_level(1, alpha)).images for f in usable
    ]
    # without training again: the lowest and highest end over seeds
    own = Interval(
        float(np.mean([mean.estimate for mean in means])),
        min(mean.low for mean in means),
        max(mean.high for mean in means),
        family_level(1, alpha),
    )
    nulls: dict[str, float] = {}
    for one in usable:
        for null, value in one.nulls.items():
            if not np.isnan(value):
                nulls[null] = max(value, nulls.get(null, -np.inf))
    regions = usable[0].regions
    what = f"log LFR of {regions.title(regions.primary)}, matched: {name}"
    apart = {
        null: Interval(own.estimate - value, own.low - value, own.high - value, own.level)
        for null, value in nulls.items()
    }
    rows = [
        interval_row("null", f"{what} beside {null}", gap, "", len(usable), len(usable[0].ids))
        for null, gap in apart.items()
    ]
    return NullComparison(_above(own, nulls, "untrained"), _above(own, nulls, "gaussian"), rows)


def _above(own: Interval, nulls: dict[str, float], kind: str) -> bool | None:
    values = [value for null, value in nulls.items() if null.startswith(kind)]
    return own.low > max(values) if values else None


class Arbitration(NamedTuple):
    """What the arbiter says."""

    contradicts: bool  # hiding speaks against the first model's focus
    depends: bool  # hiding costs the first model more than patches do, under every fill
    rows: list[Row]


def arbitrate(
    first: Mapping[str, Floats],
    second: Mapping[str, Floats],
    names: tuple[str, str],
    alpha: float = ALPHA,
    region: str = "KEY",
) -> Arbitration:
    """Ask what hiding the region cost each model, given as (S, n) excess by fill.

    Intervals have the level 1 - alpha: contradiction only ever takes support away.

    >>> rng = np.random.default_rng(0)
    >>> much, none = rng.normal(1.0, 1.0, (1, 99)), rng.normal(0.0, 1.0, (1, 99))
    >>> found = arbitrate({"mean": much}, {"mean": none}, ("cnn", "vit"))
    >>> found.contradicts, found.depends
    (False, True)
    >>> arbitrate({"mean": none}, {"mean": much}, ("cnn", "vit")).contradicts
    True
    """
    level = family_level(1, alpha)
    rows: list[Row] = []
    contradicts, depends = False, True
    for fill in first:
        own = [compare_differences(excess[fill], level) for excess in (first, second)]
        apart = compare_differences(_scaled(first[fill]) - _scaled(second[fill]), level)
        title = f"hiding {region} ({fill}) beyond random patches"
        rows += [
            row_of(f"{title}, {name}", found, "logit", "arbiter")
            for name, found in zip(names, own, strict=True)
        ]
        rows.append(row_of(f"{title}, {names[0]} minus {names[1]}", apart, "SDs", "arbiter"))
        contradicts |= own[0].interval.side < 0 or apart.interval.side < 0
        depends &= own[0].interval.side > 0
    return Arbitration(contradicts, depends, rows)


def _scaled(excess: Floats) -> Floats:
    """Divide each seed's values, (S, n), by their SD over images."""
    spread = np.nanstd(excess, axis=1, ddof=1, keepdims=True)
    return excess / np.where(spread > 0, spread, 1.0)


def _against(
    measured: Sequence[Measured],
    zeros_in: Sequence[Measured],
    nulls: NullComparison,
    arbiter: Arbitration | None,
    models: tuple[str, str],
) -> list[str]:
    """Say what takes support back."""
    sides = {(o.name, o.resolution): o.comparison.interval.side for o in measured}
    zeros = {(o.name, o.resolution): o.comparison.interval.side for o in zeros_in}
    found = []
    if zeros.get(("share LFR >= 1", "matched"), 0) < 0:
        found.append("counting zero maps as 0 turns the difference round")
    if sides.get(("LSI", "matched"), 0) < 0:
        found.append("LSI points the other way")
    if nulls.above_twins is None:
        found.append("there are no untrained twins to compare with")
    elif not nulls.above_twins:
        found.append(f"{models[0]} is not above its own untrained twins")
    if arbiter is None:
        found.append("nobody asked the arbiter (no hiding values)")
    elif arbiter.contradicts:
        found.append("hiding the region contradicts it")
    return found


def _caveats(
    measured: Sequence[Measured],
    main: Measured,
    nulls: Sequence[NullComparison],
    arbiter: Arbitration | None,
    models: tuple[str, str],
) -> list[str]:
    """Say what a reader must know beside the verdict."""
    found = []
    if main.comparison.excluded:
        found.append(
            f"{main.comparison.excluded} of {main.comparison.n * len(main.seeds)} pairs are left "
            "out because a map is zero; rows with zero maps counted as 0 stand beside."
        )
    native = [o for o in measured if (o.name, o.resolution) == ("log LFR", "native")]
    if native and native[0].comparison.interval.side != main.comparison.interval.side:
        found.append(
            "At the maps' own resolutions the answer is another "
            f"({in_words(native[0].row)}): resolution decides it."
        )
    for model, one in zip(models, nulls, strict=True):
        if one.above_twins is False:
            found.append(f"{model} looks there no more than untrained twins of it do.")
        if one.above_blobs is False:
            found.append(
                f"A blob of heat at the image's centre, which knows nothing, reaches {model}'s LFR."
            )
    if arbiter is not None and not arbiter.depends:
        found.append(
            f"Hiding the region does not clearly cost {models[0]} more than hiding as many "
            "pixels at random."
        )
    return found


@hypothesis("H2", TwoModels, by_default=True)
def focus(asked: TwoModels, evidence: Evidence) -> list[Verdict]:
    """Judge at each fraction; all measures, resolutions and fractions are one family."""
    m = TESTS * max(len(evidence.fractions), 1)
    family = _Family(m, family_level(m, evidence.alpha), family_resamples(m, evidence.alpha))
    models = (asked.first, asked.second)
    measured = {
        fraction: compare_focus(
            evidence.focus, [(m, fraction) for m in models], evidence.seeds, *family[1:]
        )
        for fraction in sorted(evidence.fractions)
    }
    rows = iter(adjust([one.row for several in measured.values() for one in several], m))
    return [
        _at_fraction(
            evidence, models, fraction, [one._replace(row=next(rows)) for one in several], family
        )
        for fraction, several in measured.items()
    ]


class _Family(NamedTuple):
    tests: int
    level: float
    resamples: int


def _at_fraction(
    evidence: Evidence,
    models: tuple[str, str],
    fraction: float,
    measured: list[Measured],
    family: _Family,
) -> Verdict:
    found, alpha = evidence.focus, evidence.alpha
    groups = [(model, fraction) for model in models]
    statement = (
        f"{models[0]} looks more at {_region_in_words(found)} than {models[1]} at "
        f"{100 * fraction:g} % of the training data"
    )
    rule = f"{rule_for('difference', family.tests, alpha)} {GATES} {ARBITER_RULE}"
    missing = missing_cells(found, groups, evidence.seeds)
    main = next((o for o in measured if (o.name, o.resolution) == ("log LFR", "matched")), None)
    rows = [one.row for one in measured]
    if main is None:
        lacking = f"Missing: {', '.join(missing)}." if missing else "No maps at one resolution."
        return Verdict("H2", statement, "undecided", lacking, rule, rows, [], missing)

    zeros_in = compare_focus(found, groups, evidence.seeds, *family[1:], zeros_in=True)
    cells = {model: [found[model, fraction, seed] for seed in main.seeds] for model in models}
    nulls = [compare_with_nulls(model, several, alpha) for model, several in cells.items()]
    arbiter = _arbiter(found, models, fraction, main.seeds, alpha)
    doubts = _against(measured, zeros_in, nulls[0], arbiter, models)
    outcome = judge(main.comparison, float(main.row["p_bonferroni"]), alpha)
    reason = f"log LFR of {title_of(found)} on one grid: {in_words(main.row)}."
    if outcome == "supported" and doubts:
        outcome = "undecided"
        reason += f" But {'; '.join(doubts)}."
    if missing:
        outcome = "undecided"
        reason = f"Missing: {', '.join(missing)}. So far, {reason}"
    rows += seed_rows(str(main.row["comparison"]), main.comparison, main.seeds, "")
    rows += [one.row for one in zeros_in]
    rows += [row for one in nulls for row in one.rows]
    rows += [] if arbiter is None else arbiter.rows
    caveats = seed_caveats(main.comparison) + _caveats(measured, main, nulls, arbiter, models)
    limits = at_limits(*(one.primary("matched") for several in cells.values() for one in several))
    if limits:
        caveats.append(
            f"Maps without heat inside or outside {title_of(found)} weigh most in log LFR: "
            f"{limits}."
        )
    return Verdict("H2", statement, outcome, reason, rule, rows, caveats, missing)


def _region_in_words(found: Mapping[Key, Focus]) -> str:
    """Name the primary region in a sentence: "the key regions" of a face, "the defect"."""
    regions = next((focus.regions for focus in found.values()), FACE)
    several = len(regions.members(regions.primary)) > 1
    return f"the {regions.primary} regions" if several else f"the {regions.primary}"


def _arbiter(
    found: Mapping[Key, Focus],
    models: tuple[str, str],
    fraction: float,
    seeds: Sequence[int],
    alpha: float,
) -> Arbitration | None:
    groups = [(model, fraction) for model in models]
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
    return arbitrate(first, second, models, alpha, title_of(found))


def _excess(cell: Focus, fill: str) -> Floats:
    return cell.excess[fill]
