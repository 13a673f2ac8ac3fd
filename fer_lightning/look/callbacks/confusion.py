"""Which classes are taken for which, and whether confidence means anything."""

import lightning as L

from fer_lightning.keys import key
from fer_lightning.look.callbacks.look import Look, Scene
from fer_lightning.plots.confusion import confusion_figure
from fer_lightning.plots.reliability import reliability_diagram
from fer_lightning.tracking.tracker import ConfusionTracker


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

    def look(self, scene: Scene) -> None:
        """Draw from what was measured on all images."""
        results, classes = scene.module.results, scene.data.classes
        figure = confusion_figure(
            results["confusion"].numpy(), classes, scene.title("Confusion matrix")
        )
        scene.save(figure, "confusion")
        for tracker in scene.trainer.loggers:
            if isinstance(tracker, ConfusionTracker):
                name, counts = key(scene.stage, "confusion_matrix"), results["confusion"].tolist()
                tracker.log_confusion(name, counts, classes, scene.epoch)
        if scene.stage == "test":
            found = scene.module.predictions
            confidence, answer = found.logits.cpu().softmax(1).max(1)
            figure = reliability_diagram(
                confidence.numpy(),
                (answer == found.label.cpu()).numpy(),
                results["ece"].item(),
                results["ece_floor"].item(),
                title=scene.title("Calibration"),
            )
            scene.save(figure, "reliability")
