"""Where models look: the paper's table beside ours, maps that know nothing, and the arbiter."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.regions import FACE
from fer_lightning.hypotheses import paper
from fer_lightning.hypotheses.evidence import RESOLUTIONS, Focus, Resolution, focus_of
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
from fer_lightning.report.sections.focus_controls import (
    hiding_table,
    masks_table,
    methods_table,
    null_table,
)
from fer_lightning.report.sections.focus_epochs import over_epochs
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.files import FILES
from fer_lightning.runs.provenance import DRAWN
from fer_lightning.statistics import cohen_d

Floats = NDArray[np.float64]
Place = tuple[str, float, Resolution, str]  # model, fraction, resolution, region
PAPERS = {"cnn", "vit"}  # the models that the paper compares
REMEDY = "`fer-lightning focus --checkpoint RUN/checkpoints/best.ckpt` measures it."
WORDS = {"native": "ours, own grid", "matched": "ours, one 6x6 grid"}


class Summed(NamedTuple):
    """LFR of one region, means over seeds; zero maps left out, or counted as 0."""

    seeds: int
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
    *("images", "zero maps", "mean", "SD", "median", "mean log LFR", "share ≥ 1"),
    *("mean, zero maps as 0", "median, zero maps as 0", "share ≥ 1, zero maps as 0"),
)


def summed(values: Sequence[Floats], seeds: int = 1) -> Summed:
    """Sum up the values of each seed, (n,) with NaN for a zero map, then average over seeds.

    >>> found = summed([np.array([0.5, 1.5, 4.0, np.nan])])
    >>> found.mean, found.median, found.share_zeros_in, found.zero_maps
    (2.0, 1.5, 0.5, 1.0)
    """
    means = (float(np.mean(column)) for column in zip(*map(_one, values), strict=True))
    return Summed(seeds, len(values[0]), *means)


def _one(values: Floats) -> tuple[float, ...]:
    there = values[~np.isnan(values)]
    filled = np.nan_to_num(values)
    if not len(there):
        return (float(len(values)), *(np.nan,) * 5, *_level(filled))
    sd = float(there.std(ddof=1)) if len(there) > 1 else np.nan
    logs = np.log(np.clip(there, 1e-8, 1e8))  # an LFR of 0 or without heat outside has limits
    mean, median, share = _level(there)
    zero = float(np.isnan(values).sum())
    return (zero, mean, sd, median, float(logs.mean()), share, *_level(filled))


def _level(values: Floats) -> tuple[float, float, float]:
    return float(values.mean()), float(np.median(values)), float((values >= 1).mean())


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
        shown = [f for f in found if f.fraction == fraction]
        models = [m for m in collection.models if any(f.model == m for f in shown)]
        sums = _sums(found, collection.models, collection.fractions)
        items += [
            Text(
                "LFR is the mean heat inside a region divided by that outside it; from 1 on, the "
                "region is the hotter part. It grows with the resolution of a model's maps, and a "
                "spot in the middle of every picture, drawn without looking at any, can be hotter "
                "inside than outside in all of them. So read LFR beside the maps that know "
                "nothing, at one common grid, and beside what hiding regions does to the answers."
            ),
            _table(collection, shown, sums, models, pair_of(collection)),
            _zero_maps(shown, sums, models),
            _distribution(collection, shown, models),
            _numbers(sums),
        ]
    items += methods_table(collection)
    items += masks_table(collection)
    items += null_table(collection)
    items += hiding_table(collection)
    items += over_epochs(collection)
    if not items or (not found and len(items) == 1):
        items.append(Text("Nobody looked where these models look.", "note"))
    return items


def _sums(
    found: Sequence[Focus], models: Sequence[str], fractions: Sequence[float]
) -> dict[Place, Summed]:
    """Sum up each model, fraction, resolution and region that was measured."""
    sums = {}
    for model, fraction in product(models, fractions):
        several = [f for f in found if (f.model, f.fraction) == (model, fraction)]
        for resolution, region in product(RESOLUTIONS, found[0].regions.rows):
            values = [f.lfr[resolution, region] for f in several if (resolution, region) in f.lfr]
            if values and len(values[0]):
                sums[model, fraction, resolution, region] = summed(values, len(several))
    return sums


def _table(
    collection: Collection,
    shown: Sequence[Focus],
    sums: Mapping[Place, Summed],
    models: list[str],
    pair: tuple[str, str] | None,
) -> Table:
    """The paper's layout: one row per region, models side by side, its numbers below ours."""
    fraction, regions = shown[0].fraction, shown[0].regions
    compared = pair if pair is not None and set(pair) <= set(models) else None
    papers = _papers(collection, models)
    rows: list[tuple[Cell, ...]] = []
    for region in regions.rows:
        for resolution in RESOLUTIONS:
            found = [sums.get((model, fraction, resolution, region)) for model in models]
            if any(found):
                rows.append(
                    (
                        region,
                        WORDS[resolution],
                        *(s and _spread(s) for s in found),
                        *(s and number(s.median, 3) for s in found),
                        *(s and number(100 * s.share, 1) for s in found),
                        compared and number(_effect(shown, compared, resolution, region), 3),
                    )
                )
        if region in papers:
            rows.append((region, "paper", *_paper(papers[region], models)))
    seeds = len({f.seed for f in shown})
    d_of = " against ".join(compared) if compared else "of two models"
    return Table(
        "focus",
        f"LFR of each region by Grad-CAM at {percent(fraction)} of the training data: mean ± SD "
        "over images, median, and share of images with at least 1.",
        (
            *("region", "source"),
            *(f"{m}: {what}" for what in ("mean ± SD", "median", "≥ 1, %") for m in models),
            f"Cohen's d, {d_of}",
        ),
        tuple(rows),
        (
            f"Zero maps are left out here; a gap: there were no others. Means over {seeds} "
            f"seed{'s' if seeds != 1 else ''}. "
            "d is the difference of means in units of the root mean square of both SDs. Where "
            "single maps without heat outside a region decide a mean, believe the median.",
            *((f"Paper: {paper.SOURCE}, N = {paper.IMAGES}; it prints no median.",) * bool(papers)),
        ),
    )


def _papers(collection: Collection, models: list[str]) -> dict[str, paper.FocusRow]:
    """Return what the paper measured on FER-2013; nothing beside drawn faces or other regions."""
    drawn = str(collection.runs[0].at("data")).startswith(DRAWN)
    alike = collection.regions == FACE and not drawn and {*models} & PAPERS
    return {row.region: row for row in paper.FOCUS} if alike else {}


def _spread(found: Summed) -> str | None:
    """Write mean ± SD; a gap where all maps were zero, and no SD of one image."""
    if np.isnan(found.mean):
        return None
    sd = "" if np.isnan(found.sd) else f" ± {format_number(found.sd)}"
    return f"{format_number(found.mean)}{sd}"


def _effect(
    shown: Sequence[Focus], pair: tuple[str, str], resolution: Resolution, region: str
) -> float:
    """The paper's Cohen's d between two models, mean over the seeds both have."""
    at = (resolution, region)
    first, second = ({f.seed: f.lfr.get(at) for f in shown if f.model == m} for m in pair)
    pairs = [(a, second.get(seed)) for seed, a in first.items()]
    found = [cohen_d(a, b) for a, b in pairs if a is not None and b is not None]
    return float(np.mean(found)) if found else float("nan")


def _paper(theirs: paper.FocusRow, models: list[str]) -> tuple[Cell, ...]:
    means = {
        "cnn": f"{theirs.cnn_mean:.3f} ± {theirs.cnn_sd:.3f}",
        "vit": f"{theirs.vit_mean:.3f} ± {theirs.vit_sd:.3f}",
    }
    shares = {"cnn": theirs.cnn_share_ge_1, "vit": theirs.vit_share_ge_1}
    d = theirs.cohen_d if set(models) >= PAPERS else None
    return (*map(means.get, models), *(None for _ in models), *map(shares.get, models), d)


def _zero_maps(
    shown: Sequence[Focus], sums: Mapping[Place, Summed], models: Sequence[str]
) -> Table:
    regions = shown[0].regions
    rows = []
    for model, resolution in product(models, RESOLUTIONS):
        s = sums.get((model, shown[0].fraction, resolution, regions.primary))
        if s is not None:
            levels = (s.mean, s.mean_zeros_in, s.median, s.median_zeros_in)
            shares = (number(100 * share, 1) for share in (s.share, s.share_zeros_in))
            numbers = (number(s.zero_maps, 1), *(number(level, 3) for level in levels), *shares)
            rows.append((model, resolution, s.images, *numbers))
    pairs = [
        f"{name}, {how}" for name in ("mean", "median", "≥ 1, %") for how in ("left out", "as 0")
    ]
    return Table(
        "zero_maps",
        f"Maps without any heat, and what becomes of LFR of {regions.title(regions.primary)} when "
        "they are left out or count as 0.",
        ("model", "resolution", "images", "zero maps", *pairs),
        tuple(rows),
        ("Where the two conventions disagree on which model is ahead, believe neither.",),
    )


def _distribution(collection: Collection, shown: Sequence[Focus], models: Sequence[str]) -> Picture:
    fraction, regions = shown[0].fraction, shown[0].regions
    lfr = {}
    for model, resolution in product(models, RESOLUTIONS):
        stacked = [
            np.stack([f.lfr[resolution, region] for region in regions.rows], axis=1)
            for f in shown
            if f.model == model and f.has(resolution)
        ]
        if stacked:
            lfr[f"{model} {resolution}"] = np.concatenate(stacked)
    row = regions.row(regions.primary)
    key = {name: values[~np.isnan(values[:, row]), row] for name, values in lfr.items()}
    medians = ", ".join(
        f"{name}: {np.median(values):.2f}" if len(values) else f"{name}: only zero maps"
        for name, values in key.items()
    )
    title = f"LFR of single images by Grad-CAM at {percent(fraction)}: {about(collection)}"
    return Picture(
        "focus_distribution",
        "LFR of every image by Grad-CAM, at each model's own grid and at one common grid.",
        f"Median LFR of {regions.title(regions.primary)}: {medians}",
        focus_distribution(lfr, regions=regions.rows, title=title),
    )


def _numbers(sums: Mapping[Place, Summed]) -> Table:
    """All models and fractions in tidy form."""
    rows = tuple(
        (model, percent(fraction), s.seeds, resolution, region, s.images, *map(number, s[2:]))
        for (model, fraction, resolution, region), s in sums.items()
    )
    return Table(
        "focus_numbers",
        "LFR of every model, fraction, resolution and region; means over seeds.",
        ("model", "training data", "seeds", "resolution", "region", *HEADS),
        rows,
    )
