"""What a person sees while a model trains: a bar for the epoch and a line for each one done."""

import time
from datetime import timedelta
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import RichProgressBar
from lightning.pytorch.callbacks.progress.rich_progress import (
    BatchesProcessedColumn,
    CustomBarColumn,
)
from rich.console import Console
from rich.progress import TextColumn

from fer_lightning import keys
from fer_lightning.keys import key
from fer_lightning.training.callbacks.typed import classifier, data_of

BETWEEN_UPDATES = 0.25  # seconds; a step can take less than a millisecond
RECENT_STEPS = 20  # over which loss and accuracy on the bar are averaged


class Progress(RichProgressBar):
    """Epoch, loss, accuracy, images/s and time left.

    Unlike its parent it looks at the clock before it asks the device for anything, so that steps
    are not synchronised. Where there is no terminal, only the lines of finished epochs appear.
    """

    def __init__(self) -> None:
        super().__init__(refresh_rate=4)
        self.console = Console()
        self._updated = 0.0
        self._epoch_began = 0.0
        self._began = 0.0
        self._first_epoch = 0  # of this process: later than 0 in a resumed run

    def configure_columns(self, trainer: L.Trainer) -> list[Any]:
        """Leave out the columns whose content stands in the metrics."""
        columns = [TextColumn("{task.description}"), CustomBarColumn(finished_style="green")]
        return [*columns, BatchesProcessedColumn(style="")]

    def _get_train_description(self, current_epoch: int) -> str:
        return f"epoch {current_epoch + 1}/{self.trainer.max_epochs}"

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Start the clock."""
        self._began = time.monotonic()
        self._first_epoch = trainer.current_epoch
        super().on_train_start(trainer, pl_module)

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Start the epoch's clock and bar."""
        self._epoch_began = time.monotonic()
        super().on_train_epoch_start(trainer, pl_module)

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Update the bar at most a few times a second."""
        now = time.monotonic()
        if now - self._updated > BETWEEN_UPDATES:
            self._updated = now
            super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)

    def get_metrics(self, trainer: L.Trainer, pl_module: L.LightningModule) -> dict[str, Any]:
        """Text beside the bar."""
        if not trainer.training:
            return {}
        steps = trainer.fit_loop.epoch_loop.batch_progress.current.completed
        if not steps:
            return {}
        loss, acc = classifier(pl_module).training_so_far(RECENT_STEPS)
        speed = self._images_per_second(trainer, steps)
        left = self._seconds_left(trainer, steps)
        return {
            "loss": f"{loss:.3f}",
            "acc": f"{acc:.3f}",
            "images/s": f"{speed:.0f}",
            "left": str(timedelta(seconds=round(left))),
        }

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Print the line of the epoch; it stays when the bar is gone."""
        super().on_validation_end(trainer, pl_module)
        if trainer.state.fn != "fit" or trainer.sanity_checking or not self.is_enabled:
            return
        steps = trainer.fit_loop.epoch_loop.batch_progress.current.completed
        if not steps:
            return
        loss, acc = classifier(pl_module).training_so_far()
        val_loss, val_acc = (
            trainer.callback_metrics[key("val", name)] for name in (keys.LOSS, keys.ACC)
        )
        console = self.progress.console if self.progress else self.console
        console.print(
            f"epoch {trainer.current_epoch + 1:>2}/{trainer.max_epochs}"
            f"  train loss {loss:.3f} acc {acc:.3f}"
            f"  val loss {val_loss:.3f} acc {val_acc:.3f}"
            f"  {self._images_per_second(trainer, steps):.0f} images/s"
            f"  {timedelta(seconds=round(self._seconds_left(trainer, steps)))} left",
            highlight=False,
            soft_wrap=True,
        )

    def _images_per_second(self, trainer: L.Trainer, steps: int) -> float:
        size = data_of(trainer).batch_size
        seconds = time.monotonic() - self._epoch_began
        return steps * size * trainer.world_size / max(seconds, 1e-9)

    def _seconds_left(self, trainer: L.Trainer, steps: int) -> float:
        """Time for the remaining epochs at the mean speed so far."""
        done_here = trainer.current_epoch - self._first_epoch
        part = steps / max(float(trainer.num_training_batches), 1)
        left = max((trainer.max_epochs or 0) - trainer.current_epoch - part, 0)
        return (time.monotonic() - self._began) / max(done_here + part, 1e-9) * left
