"""What a hypothesis is judged by: per-image results of each cell, brought to the same images."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fer_lightning.data.regions import FACE, Regions
from fer_lightning.errors import UserError
from fer_lightning.hypotheses.truth import Truth, shipped_truth
from fer_lightning.runs.files import FILES, PAPER_METHOD
from fer_lightning.runs.run import Run, cell_name
from fer_lightning.statistics import ALPHA

Resolution = Literal["native", "matched"]
RESOLUTIONS: tuple[Resolution, ...] = ("native", "matched")
Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Key = tuple[str, float, int]  # model, fraction, seed
Group = tuple[str, float]  # model, fraction
ByRegion = dict[tuple[Resolution, str], Floats]  # (n,) by resolution and region
PER_IMAGE = ("exact", "label maps", "landmarks")  # regions of each image; the other is "template"


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
    # mask AUC and mass ratio, as `lfr`; empty where they were measured before these were kept
    auc: Mapping[tuple[Resolution, str], Floats] = field(default_factory=dict)
    mass: Mapping[tuple[Resolution, str], Floats] = field(default_factory=dict)
    # mean mass ratio of the primary region at the matched resolution with zero maps as 1, by null
    # map ("untrained 0")
    nulls: Mapping[str, float] = field(default_factory=dict)
    # (n,) by fill: what hiding it cost the true class's centred logit beyond random patches
    excess: Mapping[str, Floats] = field(default_factory=dict)
    regions: Regions = FACE  # of the data set
    # (n,) where each image's regions come from, such as "landmarks"; None where nobody wrote it
    regions_from: NDArray[np.str_] | None = None
    method: str = PAPER_METHOD  # that made the maps
    architecture: str = ""  # the network's registered name; the study's name where it is unknown

    def primary(self, at: Resolution) -> Floats:
        """LFR of the primary region."""
        return self.lfr[at, self.regions.primary]

    def has(self, at: Resolution) -> bool:
        """Whether LFR of the primary region is known at a resolution."""
        return (at, self.regions.primary) in self.lfr

    @property
    def per_image(self) -> NDArray[np.bool_]:
        """Which images have regions of their own and not those of a template, (n,)."""
        if self.regions_from is None:
            return np.zeros(len(self.ids), dtype=bool)
        return np.isin(self.regions_from, PER_IMAGE)


@dataclass(frozen=True)
class Evidence:
    """What hypotheses are judged by."""

    cells: Mapping[Key, Cell]  # finished ones by model, fraction and seed
    focus: Mapping[Key, Focus]  # by the paper's method, of those that somebody looked into
    fractions: tuple[float, ...]  # planned ones; what is missing leaves a verdict undecided
    seeds: tuple[int, ...]  # planned ones
    alpha: float = ALPHA  # of each family of tests
    others: Mapping[str, Mapping[Key, Focus]] = field(default_factory=dict)  # by other methods
    truth: Truth = field(default_factory=shipped_truth)  # which method may be believed
    runs: tuple[Run, ...] = ()  # finished ones, for what is in neither of the first two
    planned: bool = True  # whether somebody planned this; else what was found is taken for it

    @property
    def said_to_be(self) -> str:
        """What fractions and seeds are, in a sentence: planned, or merely found."""
        return "planned" if self.planned else "found, for there is no plan"

    @property
    def methods(self) -> dict[str, Mapping[Key, Focus]]:
        """Where models look, by method; the paper's is the first."""
        return {PAPER_METHOD: self.focus, **self.others}


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


def focus_of(runs: Iterable[Run], methods: Sequence[str] | None = (PAPER_METHOD,)) -> list[Focus]:
    """Return where each run looks, one for each method that was measured.

    Args:
        runs: those that nobody looked into are left out.
        methods: those wanted; None for all.

    Raises:
        UserError: a damaged table.
    """
    found = []
    for run in runs:
        table = FILES["focus_samples"].read(run.path)
        if table is None or not len(table):
            continue
        for method, samples in table.groupby("method", sort=False):
            if methods is None or method in methods:
                found.append(_focus(run, str(method), samples))
    return found


def _focus(run: Run, method: str, samples: pd.DataFrame) -> Focus:
    if "row" not in samples or samples.duplicated(["row", "resolution"]).any():
        raise UserError(
            f"expected one line for each image and resolution in the focus_samples.csv of "
            f"{run.path} but it has none or several; measure the focus again"
        )
    samples = samples.sort_values("row")
    parts = {name: samples[samples["resolution"] == name] for name in RESOLUTIONS}
    native, matched = parts["native"], parts["matched"]
    primary = run.regions.primary
    if len(matched) and not np.array_equal(matched["row"], native["row"]):
        raise UserError(
            f"expected the same images at both resolutions in the focus_samples.csv of {run.path} "
            "but they differ; measure the focus again"
        )
    table = run.focus_by("focus", method)
    lfr = _by_region(parts, "lfr")
    return Focus(
        model=run.model,
        fraction=run.fraction,
        seed=run.seed,
        ids=native["row"].to_numpy(dtype=np.int64),
        lfr=lfr,
        lsi={name: _numbers(part, f"lsi_{primary}") for name, part in parts.items() if len(part)},
        auc=_measured(_by_region(parts, "auc"), lfr),
        mass=_measured(_by_region(parts, "mass"), lfr),
        nulls=_nulls(table, primary),
        excess=_starting(native, f"centred_{primary}_"),
        regions=run.regions,
        regions_from=_regions_from(native, table),
        method=method,
        architecture=str(run.summary.get("model") or run.model),
    )


def _by_region(parts: Mapping[Resolution, pd.DataFrame], name: str) -> ByRegion:
    """Return the columns of a measure by resolution and region."""
    return {
        (at, region): values
        for at, part in parts.items()
        if len(part)
        for region, values in _starting(part, f"{name}_").items()
    }


def _measured(found: ByRegion, lfr: ByRegion) -> ByRegion:
    """Leave out what is empty where LFR is not: another method's rows brought the column."""
    return {
        place: values
        for place, values in found.items()
        if place in lfr and not (np.isnan(values) & ~np.isnan(lfr[place])).any()
    }


def _starting(table: pd.DataFrame, prefix: str) -> dict[str, Floats]:
    """Return the columns whose names start so by the rest of their names."""
    return {
        str(column).removeprefix(prefix): _numbers(table, column)
        for column in table.columns
        if str(column).startswith(prefix)
    }


def _regions_from(samples: pd.DataFrame, table: pd.DataFrame) -> NDArray[np.str_] | None:
    """Return where each image's regions come from; of all alike where only the table says it."""
    if "regions_from" in samples and samples["regions_from"].notna().all():
        return samples["regions_from"].to_numpy(dtype=np.str_)
    words = table["regions_from"] if "regions_from" in table else pd.Series(dtype=str)
    if words.isna().any() or words.nunique() != 1:
        return None
    return np.full(len(samples), str(words.iloc[0]))


def _nulls(table: pd.DataFrame, primary: str) -> dict[str, float]:
    """Return the mean mass ratio of the primary region at the matched resolution, by null map.

    The table's means leave zero maps out; here they count as 1. Rows for each image's own regions
    go before those of a template where the table has both.
    """
    if not {"mass_ratio", "zero_maps", "n"} <= set(table.columns):
        return {}
    wanted = (table["resolution"] == "matched") & (table["masks"] == "given")
    rows = table[wanted & (table["region"] == primary) & (table["source"] != "model")]
    if "regions_from" in rows and rows["regions_from"].isin(PER_IMAGE).any():
        rows = rows[rows["regions_from"].isin(PER_IMAGE)]
    mean, zero, n = (_numbers(rows, name) for name in ("mass_ratio", "zero_maps", "n"))
    share = zero / np.maximum(n, 1)
    values = np.where(share == 1, 0.0, mean) * (1 - share) + share
    names = [
        str(source) + ("" if np.isnan(seed) else f" {seed:g}")
        for source, seed in zip(rows["source"], _numbers(rows, "seed"), strict=True)
    ]
    return dict(zip(names, values.tolist(), strict=True))


def _numbers(table: pd.DataFrame, column: str) -> Floats:
    return pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64)
