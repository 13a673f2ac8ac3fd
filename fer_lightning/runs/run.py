"""One finished run as a study sees it: its numbers, and its larger files read when asked for."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fer_lightning.data.regions import FACE, Regions
from fer_lightning.errors import UserError
from fer_lightning.runs.files import (
    FILES,
    PAPER_METHOD,
    Answers,
    Embedding,
    Maps,
    NearTwins,
    read_json,
    read_metrics,
    read_near_twins,
    read_predictions,
)
from fer_lightning.runs.folder import RunFolder


@dataclass(frozen=True)
class Run:
    """A complete run folder, or a slim copy of one.

    Args:
        path: the folder.
        model: the study's name for the model; the network's own where there is no study.
        fraction: share of the training images, in (0, 1].
        seed: of training.
        identity: hash of what decides the result; empty where no study has written it.
        summary: content of summary.json.
        varied: in a study that varies an option: its `model`, `option` and `value`.
    """

    path: Path
    model: str
    fraction: float
    seed: int
    identity: str = ""
    summary: dict[str, Any] = field(default_factory=dict, repr=False)
    varied: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The run in words: ``vit-30pct-seed42``."""
        return cell_name(self.model, self.fraction, self.seed)

    @property
    def shown_as(self) -> str:
        """What readers find it by: a study's cell by its name, any other run by its folder's."""
        return self.name if self.identity else self.path.resolve().name

    @property
    def fingerprint(self) -> str:
        """Of the data set."""
        return str(self.summary.get("fingerprint"))

    @property
    def classes(self) -> list[str]:
        """Class names in label order."""
        return [str(name) for name in self.summary.get("classes", [])]

    def at(self, *names: str) -> Any:
        """What the summary holds under these names, one inside the other; None without it."""
        value: Any = self.summary
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    @property
    def regions(self) -> Regions:
        """The regions its focus numbers speak of; a face's where an older run names none."""
        found = self.summary.get("regions")
        return FACE if found is None else Regions.from_dict(found)

    @cached_property
    def predictions(self) -> Answers:
        """Rows, labels and logits of the test images.

        Raises:
            UserError: the file is damaged or of other classes.
        """
        path = RunFolder(self.path).predictions
        found, most = read_predictions(path), len(self.classes)
        known = found.logits.shape[1]
        if not 0 <= found.label.min() <= found.label.max() < known or (most and known > most):
            raise UserError(
                f"expected answers to {most or known} classes in {path} but got labels up to "
                f"{found.label.max()} and {known} logits; copy the file again"
            )
        return found

    @cached_property
    def near_twins(self) -> NDArray[np.int64] | None:
        """Rows of test images whose photograph was trained on, identical or nearly so.

        None where nobody looked: runs of older versions, until ``fer-lightning audit --runs`` did.

        Raises:
            UserError: the file is damaged or of another data set.
        """
        found: NearTwins | None = FILES["near_twins"].read(self.path)
        split = RunFolder(self.path).split
        if found is None and split.is_file() and read_json(split).get("near_twins") is not None:
            found = read_near_twins(split)
        if found is None:
            return None
        if found.fingerprint != self.fingerprint:
            raise UserError(
                f"expected near-twins of the run's data set ({self.fingerprint}) in {self.path} "
                f"but they are of {found.fingerprint}; find them again with fer-lightning audit "
                "DATA --runs"
            )
        return np.intersect1d(found.row, self.predictions.row)

    @cached_property
    def embedding(self) -> Embedding | None:
        """Features of some test images; None in slim copies."""
        return FILES["features"].read(self.path)

    @cached_property
    def maps(self) -> Maps | None:
        """Heat of some test images; None in slim copies and where nobody looked."""
        return FILES["maps"].read(self.path)

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """One row per epoch, columns as logged (``epoch``, ``val/acc``); empty without a file.

        Damaged lines are left out; `collect` names them.
        """
        return read_metrics(RunFolder(self.path).metrics).table

    @cached_property
    def methods(self) -> list[str]:
        """The attribution methods that were measured, the paper's first."""
        table = FILES["focus"].read(self.path)
        found = [] if table is None or not len(table) else sorted(set(table["method"]))
        return sorted(found, key=lambda name: name != PAPER_METHOD)

    def focus_by(self, name: str, method: str = PAPER_METHOD) -> pd.DataFrame:
        """The rows of one method in a table of `FILES`; empty where it was not measured."""
        table = FILES[name].read(self.path)
        if table is None or not len(table):
            return pd.DataFrame() if table is None else table
        return table[table["method"] == method].reset_index(drop=True)

    @cached_property
    def focus(self) -> pd.DataFrame:
        """The paper's method in the focus table, with all null rows; empty where nobody looked."""
        return self.focus_by("focus")

    @cached_property
    def focus_samples(self) -> pd.DataFrame:
        """Focus of single test images: ``row``, ``resolution``, ``lfr_<region>``, ``lsi_key``, ...

        Runs of ``fer-lightning focus`` have the resolutions native and matched and what hiding
        each region did (``centred_<region>_<fill>``; older ones ``excess_``, of raw logits); those
        of a fit alone have native only.
        """
        return self.focus_by("focus_samples")

    @cached_property
    def focus_epochs(self) -> pd.DataFrame:
        """Focus of the validation images over epochs; empty where nobody looked."""
        return self.focus_by("focus_epochs")

    @cached_property
    def hiding(self) -> pd.DataFrame:
        """What hiding regions does to the accuracy; empty where it was not measured."""
        return self.focus_by("hiding")

    @cached_property
    def randomisation(self) -> pd.DataFrame:
        """How maps change as layers are made random; empty where it was not measured."""
        return self.focus_by("randomisation")


def cell_name(model: str, fraction: float, seed: int) -> str:
    """Name a run for people and folders.

    >>> cell_name("vit", 0.3, 42), cell_name("cnn", 1.0, 1)
    ('vit-30pct-seed42', 'cnn-100pct-seed1')
    """
    return f"{model}-{100 * fraction:g}pct-seed{seed}"


def read_run(path: Path) -> Run:
    """Read a run's numbers from its folder.

    Raises:
        UserError: the folder is half-written, damaged, or not of a fit that was tested.
    """
    folder = RunFolder(path)
    if not folder.complete:
        raise UserError(
            f"expected a complete run in {path} but it has no summary.json: half-written"
        )
    summary = read_json(folder.summary)
    cell = FILES["cell"].read(path) or {}
    if summary.get("best_epoch") is None or not isinstance(summary.get("val"), dict):
        raise UserError(f"expected the run of a fit in {path} but it only measures another run's")
    model, fraction, seed = (
        cell.get(name, summary.get(name)) for name in ("model", "fraction", "seed")
    )
    accuracy = summary["test"].get("acc") if isinstance(summary.get("test"), dict) else None
    if not isinstance(accuracy, float | int):
        raise UserError(f"expected a test accuracy in {path}/summary.json but there is none")
    if (
        not isinstance(model, str)
        or not isinstance(fraction, float | int)
        or not 0 < fraction <= 1
        or isinstance(seed, bool)
        or not isinstance(seed, int)
        or not math.isfinite(accuracy)
    ):
        raise UserError(
            f"expected model, fraction and seed of a run in {path}/summary.json but got "
            f"{model!r:.40}, {fraction!r:.40}, {seed!r:.40}; the file is damaged"
        )
    varied = cell.get("varied") if isinstance(cell.get("varied"), dict) else {}
    known_as = str(cell.get("identity", ""))
    return Run(path, model, float(fraction), seed, known_as, summary, dict(varied or {}))
