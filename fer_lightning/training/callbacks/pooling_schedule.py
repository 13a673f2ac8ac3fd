"""Attentive pooling that sets in slowly, as one variant of its authors does."""

import lightning as L

from fer_lightning.errors import UserError
from fer_lightning.models.layers.pooling import AttentivePooling
from fer_lightning.training.callbacks.typed import classifier


class PoolingSchedule(L.Callback):
    """Starts with all patches and tokens and comes down linearly to the model's own pooling.

    What is kept in an epoch follows from its number alone, so a resumed run goes on as it would
    have. Validation sees what the epoch keeps; after training, and so in the test, the model keeps
    what its arguments say, also if the best epoch was an earlier one.

    Args:
        epochs: the first epoch, counted from 0, that keeps no more than the model's arguments say.
    """

    def __init__(self, epochs: int) -> None:
        if epochs < 1:
            raise UserError(f"expected epochs of at least 1 but got {epochs}")
        self.epochs = epochs
        self.target: AttentivePooling | None = None

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Remember what the model is to keep in the end."""
        net = classifier(pl_module).net
        self.target = net.pooling
        if self.target is None:
            raise UserError(
                f"expected a model with attentive pooling but got {type(net).__name__}; "
                "leave the PoolingSchedule out"
            )

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Set what this epoch keeps."""
        if self.target is not None:
            net = classifier(pl_module).net
            h, w = net.positions.shape[:2]
            share = min(trainer.current_epoch / self.epochs, 1.0)
            net.pooling = self.target.part_way(share, h * w)

    def on_fit_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Keep what the model's arguments say."""
        self._restore(pl_module)

    def on_exception(
        self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException
    ) -> None:
        """Leave the model as it was."""
        self._restore(pl_module)

    def _restore(self, pl_module: L.LightningModule) -> None:
        if self.target is not None:
            classifier(pl_module).net.pooling = self.target
