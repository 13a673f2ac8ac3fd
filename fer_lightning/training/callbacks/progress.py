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
from rich.progress import TextColumn

from fer_lightning import keys
from fer_lightning.keys import key
from fer_lightning.screen import Screen, counted
from fer_lightning.training.callbacks.typed import classifier, data_of

BETWEEN_UPDATES = 0.25  # seconds; a step can take less than a millisecond
RECENT_STEPS = 20  # over which loss and accuracy on the bar are averaged
BESIDE_THE_BAR = 72  # columns for "epoch 10/30", "400/449" and the numbers
ENOUGH_TO_TELL = 3.0  # seconds of training after which the whole time is foretold


def clock(seconds: float) -> str:
    """Write a duration as short as it can be read.

    >>> clock(5), clock(277.4), clock(3877)
    ('0:05', '4:37', '1:04:37')
    """
    return str(timedelta(seconds=round(seconds))).removeprefix("0:").removeprefix("0")


def about(seconds: float) -> str:
    """Name a duration in words.

    >>> about(20), about(340), about(7500)
    ('less than a minute', 'about 6 minutes', 'about 2.1 hours')
    """
    if seconds < 50:
        return "less than a minute"
    if seconds < 90 * 60:
        minutes = max(round(seconds / 60), 1)
        return f"about {counted(minutes, 'minute')}"
    return f"about {seconds / 3600:.1f} hours"


class Progress(RichProgressBar):
    """Epoch, loss, accuracy, images/s and time left.

    Unlike its parent it looks at the clock before it asks the device for anything, so that steps
    are not synchronised. Where there is no terminal, only the lines of finished epochs appear.
    """

    def __init__(self) -> None:
        super().__init__(refresh_rate=4)
        self.console = Screen()
        self._updated = 0.0
        self._epoch_began = 0.0
        self._began = 0.0
        self._first_epoch = 0  # of this process: later than 0 in a resumed run
        self._told = False  # how long it will take

    def configure_columns(self, trainer: L.Trainer) -> list[Any]:
        """Leave out the columns whose content stands in the metrics."""
        width = max(8, min(40, self.console.width - BESIDE_THE_BAR))  # one line, also of 80 columns
        bar = CustomBarColumn(bar_width=width, finished_style="green")
        return [TextColumn("{task.description}"), bar, BatchesProcessedColumn(style="")]

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
        if not self._told and now - self._began > ENOUGH_TO_TELL:
            self._told = True
            self._tell_how_long(trainer, batch_idx + 1)
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
            "img/s": f"{speed:.0f}",
            "left": clock(left),
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
            f"  {clock(self._seconds_left(trainer, steps))} left",
            highlight=False,
            soft_wrap=True,
        )

    def _tell_how_long(self, trainer: L.Trainer, steps: int) -> None:
        """Say once how long the run will take; looks at the ends of epochs come on top of it."""
        if not self.is_enabled:
            return
        epochs = (trainer.max_epochs or 0) - self._first_epoch
        console = self.progress.console if self.progress else self.console
        console.print(
            f"{counted(epochs, 'epoch')} will take {about(self._seconds_left(trainer, steps))} at "
            f"{self._images_per_second(trainer, steps):.0f} images/s, looks at the model aside",
            highlight=False,
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
