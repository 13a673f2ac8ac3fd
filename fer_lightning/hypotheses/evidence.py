"""What a hypothesis is judged by: per-image results of each cell, brought to the same images."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fer_lightning.data.regions import FACE, Regions
from fer_lightning.errors import UserError
from fer_lightning.runs.run import Run, cell_name
from fer_lightning.statistics import ALPHA

Resolution = Literal["native", "matched"]
RESOLUTIONS: tuple[Resolution, ...] = ("native", "matched")
Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Key = tuple[str, float, int]  # model, fraction, seed
Group = tuple[str, float]  # model, fraction


@dataclass(frozen=True)
class Cell:
    """Which test images one trained model recognises."""

    model: str  # the study's name for it
    fraction: float  # of the training images
    seed: int  # of training
    ids: Ids  # (n,) each test image's row in the data set
    correct: NDArray[np.bool_]  # (n,) bool


@dataclass(frozen=True)
class Focus:
    """Where one trained model looks, test image by test image."""

    model: str  # the study's name for it
    fraction: float  # of the training images
    seed: int  # of training
    ids: Ids  # (n,) each test image's row in the data set
    # (n,) by resolution and region; NaN for a zero map
    lfr: Mapping[tuple[Resolution, str], Floats]
    # (n,) by resolution, of the primary region; NaN for a zero map
    lsi: Mapping[Resolution, Floats] = field(default_factory=dict)
    # mean log LFR of it at the matched resolution, by null map ("untrained 0")
    nulls: Mapping[str, float] = field(default_factory=dict)
    # (n,) by fill: what hiding it cost the true class's logit beyond random patches
    excess: Mapping[str, Floats] = field(default_factory=dict)
    regions: Regions = FACE  # of the data set

    def primary(self, at: Resolution) -> Floats:
        """LFR of the primary region."""
        return self.lfr[at, self.regions.primary]

    def has(self, at: Resolution) -> bool:
        """Whether LFR of the primary region is known at a resolution."""
        return (at, self.regions.primary) in self.lfr


class Evidence(NamedTuple):
    """What hypotheses are judged by."""

    cells: Mapping[Key, Cell]  # finished ones by model, fraction and seed
    focus: Mapping[Key, Focus]  # likewise, of those that somebody looked into
    fractions: tuple[float, ...]  # planned ones; what is missing leaves a verdict undecided
    seeds: tuple[int, ...]  # planned ones
    alpha: float = ALPHA  # of each family of tests


T = TypeVar("T", bound=Cell | Focus)


class Aligned(NamedTuple):
    """Values of several groups for the same seeds and images."""

    seeds: tuple[int, ...]  # (S,) those that every group has
    values: tuple[Floats, ...]  # one (S, n) array per group
    left_out: int  # images that not all of them have


def by_key(items: Iterable[T]) -> dict[Key, T]:
    """Index cells by model, fraction and seed.

    Raises:
        UserError: two cells are the same.
    """
    found: dict[Key, T] = {}
    for item in items:
        key = (item.model, item.fraction, item.seed)
        if key in found:
            raise UserError(
                f"expected one result for {cell_name(*key)} but got two; remove one of them"
            )
        found[key] = item
    return found


def missing_cells(
    found: Mapping[Key, object], groups: Sequence[Group], seeds: Sequence[int]
) -> list[str]:
    """Name the planned cells of some groups that are not there.

    >>> missing_cells({("cnn", 0.3, 42): None}, [("cnn", 0.3), ("vit", 0.3)], [42])
    ['vit-30pct-seed42']
    """
    keys = [(model, fraction, seed) for model, fraction in groups for seed in seeds]
    return [cell_name(*key) for key in keys if key not in found]


def align(
    found: Mapping[Key, T],
    groups: Sequence[Group],
    seeds: Sequence[int],
    value: Callable[[T], ArrayLike],
) -> Aligned | None:
    """Bring a value of several groups to the seeds and images that all of them have.

    Args:
        found: as `by_key` gives it.
        groups: (model, fraction) each.
        seeds: those wanted.
        value: what to take from a cell, (n,).

    Returns:
        None where no seed is common to all groups.

    Raises:
        UserError: no image is common to all cells: they were split differently.
    """
    common = [seed for seed in seeds if all((*group, seed) in found for group in groups)]
    if not common:
        return None
    cells = [[found[*group, seed] for seed in common] for group in groups]
    ids = cells[0][0].ids
    every = ids
    for cell in (cell for group in cells for cell in group):
        if not np.array_equal(cell.ids, every):
            ids, every = np.intersect1d(ids, cell.ids), np.union1d(every, cell.ids)
    if not len(ids):
        raise UserError(
            f"expected results for the same test images but {cells[0][0].model} and "
            f"{cells[-1][-1].model} share none; use one data set and one split seed"
        )
    values = tuple(np.stack([_at(cell, ids, value) for cell in group]) for group in cells)
    return Aligned(tuple(common), values, len(every) - len(ids))


def _at(cell: T, ids: Ids, value: Callable[[T], ArrayLike]) -> Floats:
    """Return a cell's values, (n,), for given images."""
    values = np.asarray(value(cell), dtype=np.float64)
    if np.array_equal(cell.ids, ids):
        return values
    order = np.argsort(cell.ids, kind="stable")
    return values[order[np.searchsorted(cell.ids[order], ids)]]


def cells_of(runs: Iterable[Run]) -> list[Cell]:
    """Return which test images each run recognises."""
    return [
        Cell(run.model, run.fraction, run.seed, run.predictions.row, run.predictions.correct)
        for run in runs
    ]


def focus_of(runs: Iterable[Run]) -> list[Focus]:
    """Return where each run looks; runs that nobody looked into are left out."""
    return [_focus(run) for run in runs if len(run.focus_samples)]


def _focus(run: Run) -> Focus:
    samples = run.focus_samples
    if "row" not in samples or samples.duplicated(["row", "resolution"]).any():
        raise UserError(
            f"expected one line for each image and resolution in the focus_samples.csv of "
            f"{run.path} but it has none or several; measure the focus again"
        )
    samples = samples.sort_values("row")
    parts = {name: samples[samples["resolution"] == name] for name in RESOLUTIONS}
    native = parts["native"]
    matched = parts["matched"]
    primary = run.regions.primary
    excess = f"excess_{primary}_"  # followed by the fill: mean, blur
    if len(matched) and not np.array_equal(matched["row"], native["row"]):
        raise UserError(
            f"expected the same images at both resolutions in the focus_samples.csv of {run.path} "
            "but they differ; measure the focus again"
        )
    return Focus(
        model=run.model,
        fraction=run.fraction,
        seed=run.seed,
        ids=native["row"].to_numpy(dtype=np.int64),
        lfr={
            (name, column.removeprefix("lfr_")): _numbers(part, column)
            for name, part in parts.items()
            if len(part)
            for column in part.columns
            if column.startswith("lfr_")
        },
        lsi={name: _numbers(part, f"lsi_{primary}") for name, part in parts.items() if len(part)},
        nulls=_nulls(run.focus, primary),
        excess={
            column.removeprefix(excess): _numbers(native, column)
            for column in native.columns
            if column.startswith(excess)
        },
        regions=run.regions,
    )


def _nulls(table: pd.DataFrame, primary: str) -> dict[str, float]:
    """Return mean log LFR of the primary region at the matched resolution, by null map."""
    if not len(table):
        return {}
    wanted = (table["resolution"] == "matched") & (table["masks"] == "given")
    rows = table[wanted & (table["region"] == primary) & (table["source"] != "model")]
    return {
        row["source"] + ("" if pd.isna(row["seed"]) else f" {row['seed']:g}"): float(
            row["lfr_log_mean"]
        )
        for _, row in rows.iterrows()
    }


def _numbers(table: pd.DataFrame, column: str) -> Floats:
    return pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64)
