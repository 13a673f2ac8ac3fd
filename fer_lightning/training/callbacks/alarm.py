"""What a user should hear of at once, wherever they are."""

import lightning as L
import torch
from lightning.pytorch.utilities import rank_zero_warn

from fer_lightning import keys
from fer_lightning.errors import Diverged
from fer_lightning.keys import key
from fer_lightning.tracking.tracker import AlertTracker


def alarm(trainer: L.Trainer, title: str, text: str) -> None:
    """Warn on the terminal and alert on W&B, which tells by mail or chat.

    Args:
        trainer: of the run.
        title: at most 64 characters.
        text: one or two sentences.
    """
    rank_zero_warn(text)
    for logger in trainer.loggers:
        if isinstance(logger, AlertTracker):
            logger.alert(title, text)


class LossAlarm(L.Callback):
    """Says, once, that a loss is no number any more, or that a run ended because of it."""

    def __init__(self) -> None:
        self.told = False

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Look at the losses of the epoch."""
        if self.told or trainer.sanity_checking or trainer.state.fn != "fit":
            return
        for name in (key("train", keys.LOSS), key("val", keys.LOSS)):
            loss = trainer.callback_metrics.get(name)
            if loss is not None and not torch.isfinite(loss):
                self.told = True
                alarm(
                    trainer,
                    "Loss is not a number",
                    f"After epoch {trainer.current_epoch} {name} is {loss:g}: this run learns no "
                    "more; start it with a lower --model.lr or with --model.warmup_epochs=1.",
                )
                return

    def on_exception(
        self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException
    ) -> None:
        """Tell of the end of a run whose model has diverged."""
        if isinstance(exception, Diverged) and not self.told:
            self.told = True
            alarm(trainer, "Loss is not a number", str(exception))
