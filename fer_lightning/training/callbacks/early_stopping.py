"""Early stopping that does not give up on a run before it has begun to learn."""

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping
from lightning.pytorch.utilities import rank_zero_warn

from fer_lightning import keys
from fer_lightning.errors import Diverged
from fer_lightning.keys import key
from fer_lightning.tracking.tracker import AlertTracker
from fer_lightning.training.callbacks.typed import data_of

# --- What a user should hear of at once, wherever they are


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
                    f"After epoch {trainer.current_epoch + 1} {name} is {loss:g}: this run learns "
                    "no more; start it with a lower --model.lr or with --model.warmup_epochs=1.",
                )
                return

    def on_exception(
        self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException
    ) -> None:
        """Tell of the end of a run whose model has diverged."""
        if isinstance(exception, Diverged) and not self.told:
            self.told = True
            alarm(trainer, "Loss is not a number", str(exception))


STUCK = 0.99  # share of predictions in one class from which a run counts as stuck


class FairEarlyStopping(EarlyStopping):
    """Stops when validation accuracy has not improved for `patience` epochs.

    With small data a network with dropout can answer the most frequent class for its first
    epochs and learn afterwards. While validation accuracy has never been above that of always
    answering the majority class, epochs are not counted, and the run says that it is stuck.

    Args:
        patience: epochs without improvement before the run ends.
        min_delta: least change of accuracy that counts as improvement.
        wait_for_majority: don't count epochs before the majority baseline is passed; off
            follows the source paper to the letter.
        margin: how far above the baseline counts as having passed it.
    """

    def __init__(
        self,
        patience: int = 5,
        min_delta: float = 0.0,
        wait_for_majority: bool = True,
        margin: float = 0.01,
    ) -> None:
        super().__init__(key("val", keys.ACC), min_delta, patience, mode="max")
        self.wait_for_majority, self.margin = wait_for_majority, margin
        self.warned = False

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Train no further where a run goes on that had been stopped already, before its test."""
        if self.stopped_epoch and self.wait_count >= self.patience:
            trainer.should_stop = True

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Warn of a stuck run, then count the epoch, from -1 while the run has not begun."""
        self._warn_if_stuck(trainer)
        if self.wait_for_majority and not self._has_begun(trainer):
            self.wait_count = -1
        super().on_validation_end(trainer, pl_module)

    def _has_begun(self, trainer: L.Trainer) -> bool:
        baseline = data_of(trainer).majority_share("val")
        return bool(self.best_score > baseline + self.margin)

    def _warn_if_stuck(self, trainer: L.Trainer) -> None:
        if trainer.state.fn != "fit" or trainer.sanity_checking or self.warned:
            return
        share = trainer.callback_metrics.get(key("val", keys.TOP_CLASS_SHARE))
        if share is None or share < STUCK:
            return
        self.warned = True
        waits = "is not stopped for it" if self.wait_for_majority else "can be stopped for it"
        alarm(
            trainer,
            "One class only",
            f"After epoch {trainer.current_epoch + 1} {share:.0%} of the validation images get the "
            f"same class: the run has not begun to learn. It {waits} (see wait_for_majority).",
        )
