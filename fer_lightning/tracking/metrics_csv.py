"""``metrics.csv`` of a run folder: one row per epoch, the same names as everywhere else."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only

from fer_lightning import keys
from fer_lightning.runs.files import read_metrics, write_metrics


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
