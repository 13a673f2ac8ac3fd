"""Focus of models summed up region by region, from the values of single images."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fer_lightning.study.evidence import Focus
from fer_lightning.study.stats import cohen_d

REGIONS = ("eyes", "mouth", "eyebrow", "nose", "key", "all")  # as the paper orders them
Floats = NDArray[np.float64]


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
