"""``metrics.csv`` of a run folder: one row per epoch, the same names as everywhere else."""

import csv
from argparse import Namespace
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only

from fer_lightning import keys
from fer_lightning.runs.folder import atomic


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
            self._write()

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kw: Any) -> None:
        """Hyperparameters stand in config.yaml."""

    @rank_zero_only
    def cut_back(self, to_epoch: int) -> None:
        """Read what an interrupted run wrote and keep only the epochs before `to_epoch`."""
        if self.path.is_file():
            with self.path.open(newline="") as file:
                for row in csv.DictReader(file):
                    numbers = {k: float(v) for k, v in row.items() if k and v}
                    self.rows[int(numbers[keys.EPOCH])] = numbers
        self.rows = {epoch: row for epoch, row in self.rows.items() if epoch < to_epoch}
        if self.rows:
            self._write()
        else:
            self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        """Write all rows."""
        names = sorted({name for row in self.rows.values() for name in row} - {keys.EPOCH})
        with atomic(self.path) as file:
            writer = csv.DictWriter(file, [keys.EPOCH, *names], lineterminator="\n")
            writer.writeheader()
            for epoch in sorted(self.rows):
                writer.writerow(self.rows[epoch] | {keys.EPOCH: epoch})
