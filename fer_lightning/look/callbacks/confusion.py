"""Which classes are taken for which, and whether confidence means anything."""

from typing import Any

import lightning as L
import torch
from torch import Tensor

from fer_lightning.keys import key
from fer_lightning.look.callbacks.look import Look, LookContext
from fer_lightning.look.controls.hiding import answers
from fer_lightning.look.frozen import BATCH
from fer_lightning.plots.answers import confusion_figure, reliability_diagram
from fer_lightning.tracking.tracker import ConfusionTracker
from fer_lightning.training.module import Classifier
from fer_lightning.training.predictions import Predictions, classification_metrics

MOST = 100_000  # images of somebody else's data that are held at once


class ConfusionCallback(Look):
    """Confusion matrix of all validation or test images; with the test a reliability diagram."""

    def __init__(self, every_n_epochs: int = 1) -> None:
        super().__init__(every_n_epochs)

    def on_validation_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Wait: the predictions are gathered after this hook."""

    def on_test_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Wait: the predictions are gathered after this hook."""

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Draw the validation matrix."""
        super().on_validation_epoch_end(trainer, pl_module)

    def on_test_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Draw the test matrix."""
        super().on_test_epoch_end(trainer, pl_module)

    def look(self, context: LookContext) -> None:
        """Draw from what was measured on all images."""
        (results, found), classes = measured(context), context.classes
        figure = confusion_figure(
            results["confusion"].numpy(), classes, context.title("Confusion matrix")
        )
        context.save(figure, "confusion")
        for tracker in context.trainer.loggers:
            if isinstance(tracker, ConfusionTracker):
                name, counts = key(context.stage, "confusion_matrix"), results["confusion"].tolist()
                tracker.log_confusion(name, counts, classes, context.epoch)
        if context.stage == "test":
            confidence, answer = found.logits.cpu().softmax(1).max(1)
            figure = reliability_diagram(
                confidence.numpy(),
                (answer == found.label.cpu()).numpy(),
                results["ece"].item(),
                results["ece_floor"].item(),
                title=context.title("Calibration"),
            )
            context.save(figure, "reliability")


def measured(context: LookContext) -> tuple[dict[str, Tensor], Predictions]:
    """What was measured on all images: by our Classifier, or here for somebody else's module."""
    module: Any = context.module
    if isinstance(module, Classifier):
        return module.results, module.predictions
    probe = context.probe(samples=MOST, seed=0)
    logits = answers(context.net, probe.images, batch_size=BATCH)
    found = Predictions(torch.from_numpy(probe.rows), probe.labels, logits)
    return classification_metrics(logits, probe.labels), found
