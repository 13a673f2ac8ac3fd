"""Where models look: the paper's table beside ours, maps that know nothing, and the arbiter."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fer_lightning.hypotheses import paper
from fer_lightning.hypotheses.evidence import RESOLUTIONS, Focus, focus_of
from fer_lightning.plots.focus import focus_distribution
from fer_lightning.report.content import Cell, Item, Picture, Table, Text
from fer_lightning.report.parts import (
    about,
    format_number,
    lacking,
    number,
    pair_of,
    percent,
    shown_fraction,
)
from fer_lightning.report.sections.focus_controls import hiding_table, null_table
from fer_lightning.report.sections.focus_epochs import over_epochs
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.files import FILES
from fer_lightning.statistics import cohen_d

Floats = NDArray[np.float64]


def title_of(found: Sequence[Focus]) -> str:
    """Name the primary region for readers."""
    return found[0].regions.title(found[0].regions.primary)


class Summed(NamedTuple):
    """LFR of one region, means over seeds; zero maps left out, or counted as 0."""

    images: int
    zero_maps: float
    mean: float
    sd: float
    median: float
    log_mean: float
    share: float  # of images with LFR of at least 1
    mean_zeros_in: float
    median_zeros_in: float
    share_zeros_in: float


HEADS = (  # of `Summed` in a table
    "images",
    "zero maps",
    "mean",
    "SD",
    "median",
    "mean log LFR",
    "share ≥ 1",
    "mean, zero maps as 0",
    "median, zero maps as 0",
    "share ≥ 1, zero maps as 0",
)


def summed(values: Sequence[Floats]) -> Summed:
    """Sum up the values of each seed, then average over seeds.

    Args:
        values: (n,) for each seed, NaN for a zero map.

    >>> found = summed([np.array([0.5, 1.5, 4.0, np.nan])])
    >>> found.mean, found.median, found.share_zeros_in, found.zero_maps
    (2.0, 1.5, 0.5, 1.0)
    """
    return Summed(
        len(values[0]), *(float(np.mean(c)) for c in zip(*map(_one, values), strict=True))
    )


def _one(values: Floats) -> tuple[float, ...]:
    there = values[~np.isnan(values)]
    filled = np.nan_to_num(values)
    if not len(there):
        nothing = (np.nan,) * 5
        return (float(len(values)), *nothing, *_level(filled))
    sd = float(there.std(ddof=1)) if len(there) > 1 else np.nan
    logs = np.log(np.clip(there, 1e-8, 1e8))  # an LFR of 0 or without heat outside has limits
    mean, median, share = _level(there)
    zero = float(np.isnan(values).sum())
    return (zero, mean, sd, median, float(logs.mean()), share, *_level(filled))


def _level(values: Floats) -> tuple[float, float, float]:
    return float(values.mean()), float(np.median(values)), float((values >= 1).mean())


def effect(first: Sequence[Focus], second: Sequence[Focus], resolution: str, region: str) -> float:
    """Return the paper's Cohen's d between two models, mean over the seeds both have.

    NaN where a seed has no common image.
    """
    by_seed = {focus.seed: focus for focus in second}
    pairs = [(a, by_seed[a.seed]) for a in first if a.seed in by_seed]
    found = []
    for a, b in pairs:
        if (resolution, region) in a.lfr and (resolution, region) in b.lfr:
            found.append(cohen_d(a.lfr[resolution, region], b.lfr[resolution, region]))  # type: ignore[index]
    return float(np.mean(found)) if found else float("nan")


REMEDY = "`fer-lightning focus --checkpoint RUN/checkpoints/best.ckpt` measures it."
WORDS = {"native": "ours, own grid", "matched": "ours, one 6x6 grid"}


@section("focus", "Where the models look", place=50)
def focus(material: Material) -> list[Item]:
    """Lay out all that was measured of where models look."""
    collection = material.runs
    found = focus_of(collection.runs)
    there = {(f.model, f.fraction, f.seed) for f in found}
    without = [r for r in collection.runs if (r.model, r.fraction, r.seed) not in there]
    items = lacking(without, FILES["focus_samples"].name, REMEDY)
    if found:
        fraction = shown_fraction(found)
        models = [m for m in collection.models if _at(found, m, fraction)]
        items += [
            Text(
                "LFR is the mean heat inside a region divided by that outside it. It grows with "
                "the resolution of a model's maps, and a blob in the middle that knows nothing of "
                "faces reaches 100 % of at least 1: read it beside the maps that know nothing, at "
                "one common grid, and beside what hiding regions does to the answers."
            ),
            _table(found, models, fraction, pair_of(collection)),
            _zero_maps(found, models, fraction),
            _distribution(collection, found, models, fraction),
            _numbers(found, collection.models, collection.fractions),
        ]
    items += null_table(collection)
    items += hiding_table(collection)
    items += over_epochs(collection)
    if not items or (not found and len(items) == 1):
        items.append(Text("Nobody looked where these models look.", "note"))
    return items


def _at(found: Sequence[Focus], model: str, fraction: float) -> list[Focus]:
    return [f for f in found if (f.model, f.fraction) == (model, fraction)]


def _sum(several: Iterable[Focus], resolution: str, region: str) -> Summed | None:
    key = (resolution, region)
    values = [f.lfr[key] for f in several if key in f.lfr]  # type: ignore[index]
    return summed(values) if values and len(values[0]) else None


def _table(
    found: Sequence[Focus], models: list[str], fraction: float, pair: tuple[str, str] | None
) -> Table:
    """The paper's layout: a region in a row, models side by side, its numbers below ours."""
    both = pair is not None and set(pair) <= set(models)
    rows: list[tuple[Cell, ...]] = []
    for theirs in paper.FOCUS:
        for resolution in RESOLUTIONS:
            sums = [_sum(_at(found, m, fraction), resolution, theirs.region) for m in models]
            if not any(sums):
                continue
            d = float("nan")
            if both and pair is not None:
                first, second = (_at(found, m, fraction) for m in pair)
                d = effect(first, second, resolution, theirs.region)
            rows.append(
                (
                    theirs.region,
                    WORDS[resolution],
                    *(
                        None if s is None else f"{format_number(s.mean)} ± {format_number(s.sd)}"
                        for s in sums
                    ),
                    *(None if s is None else number(s.median, 3) for s in sums),
                    *(None if s is None else number(100 * s.share, 1) for s in sums),
                    number(d, 3),
                )
            )
        if set(models) & {"cnn", "vit"}:
            rows.append((theirs.region, "paper", *_paper(theirs, models)))
    seeds = len({f.seed for f in found if f.fraction == fraction})
    d_of = f"{pair[0]} against {pair[1]}" if both and pair is not None else "of two models"
    return Table(
        "focus",
        f"LFR of each region at {percent(fraction)} of the training data: mean ± SD over images, "
        "median, and share of images with at least 1.",
        (
            "region",
            "source",
            *(f"{m}: mean ± SD" for m in models),
            *(f"{m}: median" for m in models),
            *(f"{m}: ≥ 1, %" for m in models),
            f"Cohen's d, {d_of}",
        ),
        tuple(rows),
        (
            f"Zero maps are left out here. Means over {seeds} seed{'s' if seeds != 1 else ''}. "
            "d is the difference of means in units of the root mean square of both SDs. Where "
            "single maps without heat outside a region decide a mean, believe the median.",
            f"Paper: {paper.SOURCE}, N = {paper.IMAGES}; it prints no median.",
        ),
    )


def _paper(theirs: paper.FocusRow, models: list[str]) -> tuple[Cell, ...]:
    means = {
        "cnn": f"{theirs.cnn_mean:.3f} ± {theirs.cnn_sd:.3f}",
        "vit": f"{theirs.vit_mean:.3f} ± {theirs.vit_sd:.3f}",
    }
    shares = {"cnn": theirs.cnn_share_ge_1, "vit": theirs.vit_share_ge_1}
    d = theirs.cohen_d if {"cnn", "vit"} <= set(models) else None
    return (
        *(means.get(m) for m in models),
        *(None for _ in models),
        *(shares.get(m) for m in models),
        d,
    )


def _zero_maps(found: Sequence[Focus], models: list[str], fraction: float) -> Table:
    rows = []
    for model in models:
        for resolution in RESOLUTIONS:
            s = _sum(_at(found, model, fraction), resolution, found[0].regions.primary)
            if s is not None:
                shares = (number(100 * s.share, 1), number(100 * s.share_zeros_in, 1))
                means = (number(s.mean, 3), number(s.mean_zeros_in, 3))
                medians = (number(s.median, 3), number(s.median_zeros_in, 3))
                rows.append(
                    (model, resolution, s.images, number(s.zero_maps, 1), *means, *medians, *shares)
                )
    pairs = [
        f"{name}, {how}" for name in ("mean", "median", "≥ 1, %") for how in ("left out", "as 0")
    ]
    return Table(
        "zero_maps",
        f"Maps without any heat, and what becomes of LFR of {title_of(found)} when they are left "
        "out or count as 0.",
        ("model", "resolution", "images", "zero maps", *pairs),
        tuple(rows),
        ("Where the two conventions disagree on which model is ahead, believe neither.",),
    )


def _distribution(
    collection: Collection, found: Sequence[Focus], models: list[str], fraction: float
) -> Picture:
    lfr = {}
    regions = found[0].regions
    for model in models:
        several = _at(found, model, fraction)
        for resolution in RESOLUTIONS:
            have = [f for f in several if f.has(resolution)]
            if have:
                stacked = [
                    np.stack([f.lfr[resolution, region] for region in regions.rows], axis=1)
                    for f in have
                ]
                lfr[f"{model} {resolution}"] = np.concatenate(stacked)
    row = regions.row(regions.primary)
    key = {name: values[~np.isnan(values[:, row]), row] for name, values in lfr.items()}
    medians = ", ".join(
        f"{name}: {np.median(values):.2f}" if len(values) else f"{name}: only zero maps"
        for name, values in key.items()
    )
    title = f"LFR of single images at {percent(fraction)}: {about(collection)}"
    return Picture(
        "focus_distribution",
        "LFR of every image, at each model's own grid and at one common grid.",
        f"Median LFR of {title_of(found)}: {medians}",
        focus_distribution(lfr, regions=regions.rows, title=title),
    )


def _numbers(found: Sequence[Focus], models: Sequence[str], fractions: Sequence[float]) -> Table:
    """All models and fractions in tidy form."""
    rows = []
    for model in models:
        for fraction in fractions:
            several = _at(found, model, fraction)
            for resolution in RESOLUTIONS:
                for region in found[0].regions.rows:
                    s = _sum(several, resolution, region)
                    if s is not None:
                        names = (model, percent(fraction), len(several), resolution, region)
                        rows.append((*names, s.images, *(number(value) for value in s[1:])))
    return Table(
        "focus_numbers",
        "LFR of every model, fraction, resolution and region; means over seeds.",
        ("model", "training data", "seeds", "resolution", "region", *HEADS),
        tuple(rows),
    )
