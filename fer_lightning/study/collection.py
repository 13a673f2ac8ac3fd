"""All finished runs of a study: one tidy table, and long tables that are read when asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fer_lightning.errors import UserError
from fer_lightning.study.run import Run
from fer_lightning.study.table import run_row


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
        """One row per run; the columns are those of `fer_lightning.study.table.run_row`."""
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
    def occlusion(self) -> pd.DataFrame:
        """Long form: what hiding regions does to the accuracy of each run."""
        return self._long(lambda run: run.occlusion)

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
