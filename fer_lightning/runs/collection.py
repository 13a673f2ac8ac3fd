"""Gathering the run folders of a study, wherever they lie."""

import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fer_lightning.data.regions import FACE, Regions
from fer_lightning.errors import UserError
from fer_lightning.runs.files import FILES, atomic, if_readable, read_metrics
from fer_lightning.runs.find import Found, find_folders
from fer_lightning.runs.repeated import twin_of
from fer_lightning.runs.run import Run, cell_name, read_run

MEASURED = ("acc", "macro_f1", "nll", "ece", "ece_floor")
FACTS = ("parameters", "multiply_adds", "epochs", "best_epoch", "seconds", "hardware", "data")


def run_row(run: Run) -> dict[str, Any]:
    """Name a run's numbers in a study's tidy table; None where a summary has none.

    >>> summary = {"model": "vit", "test": {"acc": 0.5}, "val": {"acc": 0.6}, "seconds": 9}
    >>> row = run_row(Run(Path("a"), "vit", 0.3, 42, summary=summary))
    >>> row["test_acc"], row["val_acc"], row["seconds"], row["test_ece"]
    (0.5, 0.6, 9, None)
    """
    return {
        "model": run.model,
        "fraction": run.fraction,
        "seed": run.seed,
        **{
            f"{stage}_{name}": run.at(stage, name) for name in MEASURED for stage in ("val", "test")
        },
        "net": run.at("model"),
        **{name: run.at(name) for name in (*FACTS, "processes")},
        **{f"{part}_images": run.at("images", part) for part in ("train", "val", "test")},
        "fingerprint": run.fingerprint,
        "torch": run.at("versions", "torch"),
        "code": run.at("code"),
        "started": run.at("started"),
        "identity": run.identity,
        "folder": run.path.name,
    }


def save_table(table: pd.DataFrame, path: Path) -> list[Path]:
    """Write ``<path>.csv``, and ``<path>.parquet`` where pyarrow is installed; return both."""
    written = [path.with_name(path.name + ".csv")]
    with atomic(written[0]) as file:
        table.to_csv(file, index=False, lineterminator="\n")
    if importlib.util.find_spec("pyarrow") is not None:
        written.append(path.with_name(path.name + ".parquet"))
        with atomic(written[1], "wb") as file:
            table.to_parquet(file, index=False)
    return written


class Correct(NamedTuple):
    """Which test images the runs of one model and fraction recognise."""

    seeds: tuple[int, ...]  # S
    row: NDArray[np.int64]  # (N,) of the images in the data set, the same for every model
    right: NDArray[np.bool_]  # (S, N)


@dataclass(frozen=True)
class Collection:
    """All finished runs of a study.

    Args:
        runs: ordered as the study names its models, then by fraction and seed.
        missing: names of cells without a complete run, such as ``swin-60pct-seed43``.
        left_out: folders that could not be used, and why.
        study: content of study.json: ``name``, ``hypotheses``, ``models``, ...; may be empty.

    >>> Collection(runs=()).table.empty
    True
    """

    runs: tuple[Run, ...]
    missing: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    study: Mapping[str, Any] = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        """Models with at least one run, in order."""
        return tuple(dict.fromkeys(run.model for run in self.runs))

    @property
    def fractions(self) -> tuple[float, ...]:
        """Fractions with at least one run, ascending."""
        return tuple(sorted({run.fraction for run in self.runs}))

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds with at least one run, ascending."""
        return tuple(sorted({run.seed for run in self.runs}))

    @property
    def fingerprint(self) -> str | None:
        """Of the one data set; None without runs."""
        return self.runs[0].fingerprint if self.runs else None

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per run; the columns are those of `fer_lightning.runs.collection.run_row`."""
        return pd.DataFrame([run_row(run) for run in self.runs])

    def select(self, model: str | None = None, fraction: float | None = None) -> tuple[Run, ...]:
        """Return the runs of a model, of a fraction, or of both."""
        return tuple(
            run
            for run in self.runs
            if model in (None, run.model) and fraction in (None, run.fraction)
        )

    def run(self, model: str, fraction: float, seed: int) -> Run | None:
        """Return one run, or None where it is missing."""
        return next((r for r in self.select(model, fraction) if r.seed == seed), None)

    def correct(self, model: str, fraction: float) -> Correct:
        """Which test images are recognised, seed by seed.

        Raises:
            UserError: there is no such run, or its runs were tested on different images.
        """
        runs = self.select(model, fraction)
        if not runs:
            raise UserError(
                f"expected a run of {model} at {100 * fraction:g} % but there is none; "
                "go on with the study"
            )
        first = runs[0].predictions
        for run in runs:
            if not np.array_equal(run.predictions.row, first.row):
                raise UserError(
                    "expected the same test images in all runs but they differ between "
                    f"{runs[0].path} and {run.path}; use one split seed and one split"
                )
        right = np.stack([run.predictions.correct for run in runs])
        return Correct(tuple(run.seed for run in runs), first.row, right)

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """Long form: a row per run and test image, with ``label predicted correct confidence``."""
        return self._long(_answers)

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """Long form: a row per run and epoch, columns as logged."""
        return self._long(lambda run: run.metrics)

    @cached_property
    def focus(self) -> pd.DataFrame:
        """Long form: the focus tables of all runs, with their null rows."""
        return self._long(lambda run: run.focus)

    @cached_property
    def focus_samples(self) -> pd.DataFrame:
        """Long form: a row per run, image and resolution; columns as in `Run.focus_samples`."""
        return self._long(lambda run: run.focus_samples)

    @cached_property
    def focus_epochs(self) -> pd.DataFrame:
        """Long form: focus of validation images over epochs."""
        return self._long(lambda run: run.focus_epochs)

    @cached_property
    def all_focus(self) -> pd.DataFrame:
        """Long form: the focus tables of all runs and methods."""

        def of_methods(run: Run) -> pd.DataFrame:
            tables = [run.focus_by("focus", method) for method in run.methods]
            return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

        return self._long(of_methods)

    @property
    def regions(self) -> Regions:
        """The regions of the data that the runs share."""
        return self.runs[0].regions if self.runs else FACE

    @property
    def primary_title(self) -> str:
        """The primary region's name for readers: KEY for faces."""
        return self.regions.title(self.regions.primary)

    @cached_property
    def hiding(self) -> pd.DataFrame:
        """Long form: what hiding regions does to the accuracy of each run."""
        return self._long(lambda run: run.hiding)

    def _long(self, part: Callable[[Run], pd.DataFrame]) -> pd.DataFrame:
        """Stack a table of every run under the columns ``model fraction seed``."""
        tables = []
        for run in self.runs:
            table = part(run)
            if len(table):
                which = {"model": run.model, "fraction": run.fraction, "seed": run.seed}
                rest = table.drop(columns=[name for name in which if name in table])
                if "seed" in table:  # of a null map
                    rest = rest.assign(map_seed=table["seed"])
                tables.append(pd.DataFrame(which, index=rest.index).join(rest))
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _answers(run: Run) -> pd.DataFrame:
    found = run.predictions
    return pd.DataFrame(
        {
            "row": found.row,
            "label": found.label,
            "predicted": found.predicted,
            "correct": found.correct,
            "confidence": found.probabilities.max(1),
        }
    )


def collect(folders: Iterable[Path | str]) -> Collection:
    """Gather the finished runs of a study.

    Each folder may be a study's (with study.json), a run's, a slim copy of a run's, or one that
    holds any of these, such as folders copied together from several machines. Runs that are
    half-written, or whose summary or predictions are damaged, are left out and named, as are
    damaged lines of metrics.csv; a run that was found twice counts once.

    Args:
        folders: where to look.

    Raises:
        UserError: runs of different data sets; or two different runs for the same cell.
    """
    found = find_folders([Path(folder) for folder in folders])
    runs: dict[str, Run] = {}
    left_out: dict[str, str] = {}
    for path in found.paths:
        try:
            run = found.labelled(read_run(path))
            if (path / FILES["predictions"].name).exists():
                _ = run.predictions  # one damaged file must not cost the report of all runs
        except UserError as error:
            left_out[str(path)] = str(error)
            continue
        metrics = path / FILES["metrics"].name
        read, why = if_readable(read_metrics, metrics)
        if damage := why or (read.damage if read else ""):
            left_out[str(metrics)] = damage
        if found.expected and run.identity not in found.expected:
            left_out[str(path)] = "it is no cell of this study as it stands now"
            continue
        _check_data(run, runs)
        twin = runs.setdefault(run.name, run)
        if twin is not run:
            left_out[str(path)] = twin_of(twin, run)
    ordered = sorted(runs.values(), key=lambda r: (found.rank(r.model), r.fraction, r.seed))
    return Collection(tuple(ordered), _missing(found, runs), left_out, found.study)


def _check_data(run: Run, runs: Mapping[str, Run]) -> None:
    """Refuse runs of different images, unless a study varies just these."""
    value = run.varied.get("value")
    other = next((r for r in runs.values() if r.varied.get("value") == value), run)
    if run.fingerprint != other.fingerprint:
        raise UserError(
            f"expected runs of one data set but {other.path} is of {other.summary.get('data')} "
            f"({other.fingerprint}) and {run.path} of {run.summary.get('data')} "
            f"({run.fingerprint}); collect them apart"
        )


def _missing(found: Found, runs: Mapping[str, Run]) -> tuple[str, ...]:
    """Name cells without a run: the study's, or those that complete the grid of what is there."""
    if found.expected:
        wanted = list(found.expected.values())
    else:
        axes = [
            dict.fromkeys(getattr(run, axis) for run in runs.values())
            for axis in ("model", "fraction", "seed")
        ]
        wanted = [cell_name(m, f, s) for m in axes[0] for f in axes[1] for s in axes[2]]
    return tuple(name for name in wanted if name not in runs)
