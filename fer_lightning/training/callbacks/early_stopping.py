"""Early stopping that does not give up on a run before it has begun to learn."""

import lightning as L
from lightning.pytorch.callbacks import EarlyStopping

from fer_lightning import keys
from fer_lightning.keys import key
from fer_lightning.training.callbacks.alarm import alarm
from fer_lightning.training.callbacks.typed import data_of

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
        share = trainer.callback_metrics.get(key("val", keys.TOP_CLASS_SHARE))
        if share is None or share < STUCK or self.warned or trainer.sanity_checking:
            return
        self.warned = True
        waits = "is not stopped for it" if self.wait_for_majority else "can be stopped for it"
        alarm(
            trainer,
            "One class only",
            f"After epoch {trainer.current_epoch} {share:.0%} of the validation images get the "
            f"same class: the run has not begun to learn. It {waits} (see wait_for_majority).",
        )
