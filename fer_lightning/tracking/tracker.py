"""What a tracker can show beside numbers; callbacks ask for this and for no tracker by name."""

import functools
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from lightning.pytorch.loggers import Logger, TensorBoardLogger, WandbLogger
from lightning.pytorch.utilities import rank_zero_only, rank_zero_warn
from numpy.typing import NDArray
from PIL import Image

from fer_lightning import keys
from fer_lightning.runs.files import read_metrics, write_metrics


@runtime_checkable
class Tracker(Protocol):
    """Shows pictures and tables."""

    def log_picture(self, name: str, path: Path, epoch: int) -> None:
        """Show a picture of the run folder at its epoch."""

    def log_table(self, key: str, columns: list[str], data: list[list[Any]]) -> None:
        """Show a table."""


def show_picture(logger: Logger, name: str, path: Path, epoch: int) -> None:
    """Show a picture on any logger that can: ours, Lightning's W&B and TensorBoard loggers."""
    if isinstance(logger, Tracker):
        logger.log_picture(name, path, epoch)
    elif isinstance(logger, WandbLogger):
        logger.log_image(name, [str(path)])
    elif isinstance(logger, TensorBoardLogger):
        pixels = np.asarray(Image.open(path).convert("RGB"))
        logger.experiment.add_image(name, pixels, epoch, dataformats="HWC")


@runtime_checkable
class FeatureTracker(Protocol):
    """Shows points in feature space with their faces."""

    def log_features(
        self,
        name: str,
        features: NDArray[np.floating[Any]],
        labels: list[str],
        faces: NDArray[np.uint8],
    ) -> None:
        """Show (N, D) features, their N labels and (N, C, H, W) faces, in place of earlier ones."""


@runtime_checkable
class ConfusionTracker(Protocol):
    """Shows confusion matrices in its own way, beside our picture."""

    def log_confusion(
        self, name: str, counts: list[list[int]], classes: Sequence[str], epoch: int
    ) -> None:
        """Show images by true and predicted class at their epoch."""


@runtime_checkable
class AlertTracker(Protocol):
    """Reaches users who do not look at the terminal."""

    def alert(self, title: str, text: str) -> None:
        """Tell them; the title has at most 64 characters."""


def disable_after_error(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let methods work on rank zero only, warn at their object's first error and then do nothing.

    A tracker's failure ends the tracking, never the training.

    >>> class Broken:
    ...     failure = None
    ...     @disable_after_error("The page")
    ...     def write(self):
    ...         raise OSError("no room")
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     page = Broken()
    ...     page.write(), page.write(), len(told), page.failure
    (None, None, 1, 'OSError: no room')
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @rank_zero_only
        @functools.wraps(method)
        def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self.failure is not None:
                return None
            try:
                return method(self, *args, **kwargs)
            except Exception as error:  # whatever it raises, training goes on
                self.failure = f"{type(error).__name__}: {error}"
                rank_zero_warn(
                    f"{what} failed in {method.__name__} and is off for the rest of this run "
                    f"({self.failure}). Training goes on; everything is in the run folder."
                )
                return None

        return guarded

    return decorate


def is_rank_zero() -> bool:
    """Whether this process writes and prints; known before there is a Trainer."""
    return rank_zero_only.rank == 0  # type: ignore[attr-defined]


# --- ``metrics.csv`` of a run folder: one row per epoch, the same names as everywhere else


class MetricsCSV(Logger):
    """Writes the numbers of each epoch, atomically, and can be cut back to go on from there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = MetricsCSV(Path(folder, "metrics.csv"))
    ...     for epoch in range(3):
    ...         log.log_metrics({"epoch": epoch, "val/acc": epoch / 10})
    ...     log.cut_back(to_epoch=2)
    ...     Path(folder, "metrics.csv").read_text().split()
    ['epoch,val/acc', '0,0.0', '1,0.1']
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.rows: dict[int, dict[str, Any]] = {}

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name

    @property
    def version(self) -> str:
        """Runs have a folder each, so there is one version."""
        return ""

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Add numbers to the row of their epoch; those of the test are in the summary."""
        of_epoch = {k: float(f"{v:.6g}") for k, v in metrics.items() if not k.startswith("test/")}
        if of_epoch.keys() - {keys.EPOCH}:
            self.rows.setdefault(int(of_epoch.pop(keys.EPOCH)), {}).update(of_epoch)
            write_metrics(self.path, self.rows)

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kw: Any) -> None:
        """Hyperparameters stand in config.yaml."""

    @rank_zero_only
    def cut_back(self, to_epoch: int) -> None:
        """Read what an interrupted run wrote and keep only the epochs before `to_epoch`."""
        before: Mapping[int, dict[str, Any]] = read_metrics(self.path, strict=True).rows
        self.rows = {e: row for e, row in {**self.rows, **before}.items() if e < to_epoch}
        if self.rows:
            write_metrics(self.path, self.rows)
        else:
            self.path.unlink(missing_ok=True)
