"""Which training images adaptive weighting prefers, and whether it flees from the hard ones."""

import csv
from typing import cast

import lightning as L
import torch
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor

from fer_lightning import keys
from fer_lightning.errors import UserError
from fer_lightning.look.callbacks.grad_cam import shown
from fer_lightning.look.callbacks.look import LookContext
from fer_lightning.look.metrics.summary import spearman
from fer_lightning.plots.galleries import Faces, weighting_figure
from fer_lightning.training.callbacks.typed import classifier, data_of
from fer_lightning.training.losses import Weighed

CAPTION = (
    "x 1 is an image's equal share of its batch; loss is its cross-entropy in the same step, of "
    "the augmented image. {images:,} training images; rank correlation of weight and loss "
    "{rank:.2f} (below 0: hard images count less)."
)


class WeightingCallback(L.Callback):
    """Shows the most and the least weighted training images of an epoch.

    It leaves ``weighting/epoch_*.png`` and ``weights.csv`` with the weight and loss of every
    training image in the last such epoch, and logs the rank correlation of the two.

    Args:
        every_n_epochs: look after each n-th epoch of training.
        images: how many of each are shown.
    """

    only_looks = True

    def __init__(self, every_n_epochs: int = 1, images: int = 16) -> None:
        for name, value in (("every_n_epochs", every_n_epochs), ("images", images)):
            if value < 1:
                raise UserError(f"expected {name} of at least 1 but got {value}")
        self.every_n_epochs, self.images = every_n_epochs, images

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Say it once where there is nothing to show."""
        objective = classifier(pl_module).objective
        if objective is None or objective.weighting is None:
            rank_zero_warn("WeightingCallback leaves this run out: it has no model.weighting")

    def on_validation_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Look after every n-th epoch; every rank gives its images."""
        module = classifier(pl_module)
        due = (trainer.current_epoch + 1) % self.every_n_epochs == 0
        if trainer.state.fn != "fit" or trainer.sanity_checking or not due or not module.weighed:
            return
        parts = [torch.cat(part) for part in zip(*module.weighed, strict=True)]
        gathered = [cast(Tensor, module.all_gather(part)) for part in parts]  # ranks, images
        weighed = Weighed(*(part.flatten().cpu() for part in gathered))
        if trainer.is_global_zero:
            self.look(LookContext(trainer, module, "train"), weighed)

    def look(self, context: LookContext, weighed: Weighed) -> None:
        """Draw, save and log."""
        order = weighed.weight.argsort(descending=True)
        rank = spearman(weighed.weight[None], weighed.loss[None]).item()
        context.log({(keys.WEIGHT_LOSS_CORRELATION,): rank})
        self._write(context, weighed, order)
        n = min(self.images, len(order))
        figure = weighting_figure(
            faces_of(context, weighed, order[:n]),
            faces_of(context, weighed, order[-n:].flip(0)),
            context.classes,
            context.title("Adaptive weights"),
            CAPTION.format(images=len(order), rank=rank),
        )
        context.save(figure, "weighting")

    def _write(self, context: LookContext, weighed: Weighed, order: Tensor) -> None:
        data = data_of(context.trainer).image_set
        with context.writing(context.folder / "weights.csv") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["epoch", "row", "file", "label", "weight", "loss"])
            for row, weight, loss in zip(*(part[order].tolist() for part in weighed), strict=True):
                name = data.classes[data.labels[row]]
                numbers = f"{weight:.6g}", f"{loss:.6g}"
                rows.writerow([context.epoch, row, data.files[row], name, *numbers])


def faces_of(context: LookContext, weighed: Weighed, at: Tensor) -> Faces:
    """Return the images at these places of `weighed`, as stored."""
    data, rows = data_of(context.trainer).image_set, weighed.row[at].numpy()
    weights, losses = weighed.weight[at].numpy(), weighed.loss[at].numpy()
    return Faces(shown(data.images[rows]), data.labels[rows], weights, losses)
