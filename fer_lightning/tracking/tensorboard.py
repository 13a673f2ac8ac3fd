"""TensorBoard: the local page of a run, with the names and pictures that W&B shows."""

from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from lightning.pytorch.loggers import TensorBoardLogger
from numpy.typing import NDArray

from fer_lightning import keys
from fer_lightning.keys import key
from fer_lightning.runs.folder import RunFolder
from fer_lightning.tracking.tracker import disable_after_error

if TYPE_CHECKING:
    from fer_lightning.tracking.events import Value

MISSING = "TensorBoard is not installed, so there is no local page (pip install tensorboard)"
guarded = disable_after_error("TensorBoard")


def is_installed() -> bool:
    """Whether event files can be written."""
    return find_spec("tensorboard") is not None


class TensorBoardTracker(TensorBoardLogger):
    """`TensorBoardLogger` with the epoch as the axis, whose failures never end a training.

    Args:
        folder: the run's; event files lie in its ``tensorboard/``.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.failure: str | None = None
        self.options: dict[str, Value] = {}
        self.is_resumed = folder.tensorboard.is_dir()
        super().__init__(folder.path, name=folder.tensorboard.name, version="")

    @guarded
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Add the numbers of an epoch; they can be seen at once."""
        epoch = int(metrics.get(keys.EPOCH, 0))
        for name, value in metrics.items():
            if name != keys.EPOCH:
                self.experiment.add_scalar(name, value, epoch)
        self.experiment.flush()

    @guarded
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kw: Any) -> None:
        """Note the options that runs are compared by; what comes out is added by `summarise`."""
        options = params if isinstance(params, dict) else vars(params)
        self.options = self._events.hyperparameters(options)
        columns, values, _ = self._events.options_summaries(self.options)
        for part in (columns, values):
            self._writer.add_summary(part)

    @guarded
    def cut_back(self, to_epoch: int) -> None:
        """Forget the epochs of an interrupted run that come again."""
        if self.is_resumed:
            self._writer.add_event(self._events.restart_event(to_epoch), to_epoch)

    @guarded
    def log_picture(self, name: str, path: Path, epoch: int) -> None:
        """Show a picture of the run folder at its epoch."""
        self._writer.add_summary(self._events.picture_summary(name, path), epoch)
        self.experiment.flush()

    @guarded
    def log_table(self, key: str, columns: list[str], data: list[list[Any]]) -> None:
        """Show a table as text."""
        self.experiment.add_text(key, self._events.as_text(columns, data))

    @guarded
    def log_features(
        self,
        name: str,
        features: NDArray[np.floating[Any]],
        labels: list[str],
        faces: NDArray[np.uint8],
    ) -> None:
        """Show features, labels and faces in the projector, in place of earlier ones."""
        self._events.write_projector(Path(self.log_dir), name, features, labels, faces)

    @guarded
    def summarise(self, summary: dict[str, Any]) -> None:
        """Add the final numbers and say that the run is complete."""
        if best := self._events.best_accuracy(summary):
            self.experiment.add_scalar(key("val", keys.BEST_ACC), *best)
        self._writer.add_summary(self._events.options_summaries(self.options)[2])
        self.experiment.flush()

    @guarded
    def finalize(self, status: str) -> None:
        """Stay open: a test follows the training."""
        if self._experiment is not None:
            self.experiment.flush()

    @guarded
    def finish(self) -> None:
        """Close the event file; call it last, also after an error."""
        if self._experiment is not None:
            self._experiment.close()

    def save(self) -> None:
        """Everything is written when it is logged; the options stand in config.yaml."""

    @property
    def _events(self) -> Any:
        """What is written; imported at first use, because TensorBoard can be missing."""
        from fer_lightning.tracking import events

        return events

    @property
    def _writer(self) -> Any:
        """What writes any kind of event."""
        return self.experiment._get_file_writer()
