"""Finished runs and studies from their folders; torch is imported when a model is asked for."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from fer_lightning.errors import UserError
from fer_lightning.hypotheses import Verdict
from fer_lightning.report.sections.verdicts import judged
from fer_lightning.runs.collection import Collection, collect
from fer_lightning.runs.files import FILES, Answers
from fer_lightning.runs.folder import RunFolder
from fer_lightning.runs.run import Run as Record
from fer_lightning.runs.run import read_run

if TYPE_CHECKING:
    from fer_lightning.data.datamodule import FERDataModule
    from fer_lightning.models import VisionModel


@dataclass(frozen=True, repr=False)
class Run:
    """A finished run.

    Args:
        record: its numbers and files, as studies see them.
    """

    record: Record

    def __repr__(self) -> str:
        return f"Run({self.name}: test accuracy {self.accuracy:.3f}, {self.path})"

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.record.path

    @property
    def name(self) -> str:
        """The run in words: ``vit-30pct-seed42``."""
        return self.record.name

    @property
    def summary(self) -> dict[str, Any]:
        """Content of summary.json."""
        return self.record.summary

    @property
    def accuracy(self) -> float:
        """On the test images."""
        return float(self.summary["test"]["acc"])

    @property
    def classes(self) -> list[str]:
        """Class names in label order."""
        return self.record.classes

    @property
    def metrics(self) -> pd.DataFrame:
        """One row per epoch, columns as logged: ``epoch``, ``train/loss``, ``val/acc``, ..."""
        return self.record.metrics

    @property
    def predictions(self) -> Answers:
        """Of the test images: ``row``, ``label``, ``logits``, ``predicted``, ``probabilities``."""
        return self.record.predictions

    @cached_property
    def focus(self) -> pd.DataFrame:
        """The focus table of all methods, null rows included; empty where nobody looked."""
        return self._of_methods("focus")

    @cached_property
    def hiding(self) -> pd.DataFrame:
        """What hiding regions does to the accuracy; empty where it was not measured."""
        return self._of_methods("hiding")

    def _of_methods(self, name: str) -> pd.DataFrame:
        tables = [self.record.focus_by(name, method) for method in self.record.methods]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    @property
    def report(self) -> Path | None:
        """The run's page, if it was written."""
        return FILES["report"].find(self.path)

    def checkpoint(self, which: Literal["best", "last"] = "best") -> Path:
        """The file of the best or the last epoch.

        Raises:
            UserError: it is not there, as in a slim copy of a run.
        """
        folder = RunFolder(self.path)
        path = folder.best_checkpoint if which == "best" else folder.last_checkpoint
        if not path.is_file():
            raise UserError(
                f"expected the checkpoint {path} but there is none; use the folder in which the "
                "run was trained"
            )
        return path

    def model(self, which: Literal["best", "last"] = "best") -> "VisionModel":
        """The trained model, in eval mode.

        Raises:
            UserError: no checkpoint, or of a model that is neither registered nor imported.
        """
        from fer_lightning.training.checkpoint import load_net

        return load_net(self.checkpoint(which))[0]

    def data(self, data_dir: str | None = None) -> "FERDataModule":
        """The data that it was trained on, with its split.

        Args:
            data_dir: where the data lies, if not where it lay then.

        Raises:
            UserError: other data, or data that were given as arrays.
        """
        from fer_lightning.commands.resolve import data_of_run

        return data_of_run(self.path / "checkpoints" / "best.ckpt", self.summary, data_dir)


def load_run(path: str | Path) -> Run:
    """Read a finished run.

    Raises:
        UserError: no complete run of a fit is there.
    """
    return Run(read_run(Path(path)))


@dataclass(frozen=True, repr=False)
class Study:
    """The finished runs of a study.

    Args:
        collection: the runs, as a report sees them.
    """

    collection: Collection

    def __repr__(self) -> str:
        found = self.collection
        name = found.study.get("name", "study")
        return f"Study({name}: {len(found.runs)} runs, {len(found.missing)} missing)"

    @property
    def runs(self) -> list[Run]:
        """In the study's order."""
        return [Run(record) for record in self.collection.runs]

    @property
    def missing(self) -> list[str]:
        """Cells without a complete run."""
        return list(self.collection.missing)

    @property
    def table(self) -> pd.DataFrame:
        """One row per run."""
        return self.collection.table

    @cached_property
    def judged(self) -> list[Verdict]:
        """The answer to each hypothesis with its rule, numbers and caveats."""
        return judged(self.collection)

    def verdicts(self) -> pd.DataFrame:
        """One row per hypothesis: what is claimed, the outcome, why, and what to keep in mind."""
        columns = ["hypothesis", "statement", "outcome", "reason", "caveats"]
        rows = [
            (v.hypothesis, v.statement, v.outcome, v.reason, " ".join(v.caveats))
            for v in self.judged
        ]
        return pd.DataFrame(rows, columns=pd.Index(columns))


def load_study(path: str | Path) -> Study:
    """Read the finished runs of a study, or of any folder that holds runs.

    Raises:
        UserError: there is no finished run, or runs that do not belong together.
    """
    found = collect([Path(path)])
    if not found.runs:
        why = next(iter(found.left_out.values()), f"no {FILES['summary'].name} is in it")
        raise UserError(f"expected finished runs in {path} but {why}; let a fit come to its end")
    return Study(found)
