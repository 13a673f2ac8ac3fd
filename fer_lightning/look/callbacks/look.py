"""What the callbacks that look at a model share: when, at which images, and where results go."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import lightning as L
import numpy as np
import torch
from lightning.pytorch.utilities import rank_zero_warn
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from fer_lightning.data.augment import to_float
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.data.probe import probe_rows
from fer_lightning.data.regions import masks_for
from fer_lightning.errors import UserError
from fer_lightning.keys import Stage, key
from fer_lightning.models import name_of
from fer_lightning.runs.folder import atomic
from fer_lightning.tracking.tracker import FeatureTracker, Tracker
from fer_lightning.training.callbacks.typed import classifier, data_of
from fer_lightning.training.module import Classifier

DPI = 200  # of saved pictures: a double-column figure prints sharply


class Probe(NamedTuple):
    """The images that are looked at, the same in each epoch and for each model."""

    rows: NDArray[np.int64]  # (N,) in the ImageSet
    images: Tensor  # (N, C, H, W) floats in [0, 1] on the model's device
    labels: Tensor  # (N,) on the CPU
    faces: NDArray[np.uint8]  # (N, C, H, W) as stored


@dataclass(frozen=True)
class Scene:
    """One look: a model in one epoch, its data, and the places for what is found."""

    trainer: L.Trainer
    module: Classifier
    data: FERDataModule
    stage: Stage
    folder: Path

    @property
    def epoch(self) -> int:
        """Counted from 0."""
        return self.trainer.current_epoch

    @property
    def name(self) -> str:
        """Stem of file names: ``epoch_003`` (counted from 0) or ``test``."""
        return "test" if self.stage == "test" else f"epoch_{self.epoch:03d}"

    def title(self, what: str) -> str:
        """Say what a picture shows, of which model and data."""
        data = self.data.image_set
        tested = "last" if self.data.split.protocol == "train_test" else "best"
        when = f"{tested} epoch, test images" if self.stage == "test" else f"epoch {self.epoch}"
        return f"{what}: {name_of(self.module.net)}, {when}, {data.name} ({data.fingerprint})"

    def probe(self, samples: int, seed: int) -> Probe:
        """Choose validation images in training and test images afterwards."""
        data = self.data.image_set
        rows = probe_rows(getattr(self.data.split, self.stage), samples, seed, data.fingerprint)
        faces = np.ascontiguousarray(data.images[rows])
        images = to_float(torch.from_numpy(faces).to(self.module.device))
        return Probe(rows, images, torch.from_numpy(data.labels[rows]), faces)

    def masks(self, probe: Probe) -> Tensor:
        """Region masks of the probe images, (N, 7, H, W): exact where the data knows them."""
        return torch.from_numpy(masks_for(self.data.image_set, probe.rows))

    def log(self, numbers: dict[tuple[str, ...], float]) -> None:
        """Log numbers under ``<stage>/<name>``; only rank zero has them."""
        for names, value in numbers.items():
            self.module.log(key(self.stage, *names), value, rank_zero_only=True)

    def save(self, figure: Figure, kind: str) -> Path:
        """Save a picture as ``<kind>/<name>.png`` in the run folder and on the trackers."""
        path = self.folder / kind / f"{self.name}.png"
        picture = io.BytesIO()
        figure.savefig(picture, dpi=DPI, format="png")
        with self.writing(path, "wb") as file:
            file.write(picture.getvalue())
        for tracker in self.trackers:
            tracker.log_picture(key(self.stage, kind), path, self.epoch)
        return path

    def show_features(self, features: Tensor, probe: Probe) -> None:
        """Show where the probe images lie in feature space, on trackers that can."""
        labels = [self.data.classes[label] for label in probe.labels.tolist()]
        for tracker in self.trainer.loggers:
            if isinstance(tracker, FeatureTracker):
                name = key(self.stage, "features")
                tracker.log_features(name, features.numpy(), labels, probe.faces)

    def writing(self, path: Path, mode: str = "w") -> Any:
        """Open a file of the run folder that appears when it is complete."""
        path.parent.mkdir(parents=True, exist_ok=True)
        return atomic(path, mode)

    @property
    def trackers(self) -> list[Tracker]:
        """The loggers of the run that show pictures and tables."""
        return [logger for logger in self.trainer.loggers if isinstance(logger, Tracker)]


class Look(L.Callback):
    """Looks at the model at the end of validation epochs, and once more with the test images.

    It works on rank zero alone, which holds all images, so that the number of processes changes
    nothing. Where a look is impossible (a model without attention, too few images) it says why,
    once, and the run goes on.

    Args:
        every_n_epochs: look after each n-th epoch of training.
        samples: number of images.
        seed: chooses the images; the same ones for each model, epoch and training seed.
    """

    def __init__(self, every_n_epochs: int = 1, samples: int = 200, seed: int = 0) -> None:
        for name, value in (("every_n_epochs", every_n_epochs), ("samples", samples)):
            if value < 1:
                raise UserError(f"expected {name} of at least 1 but got {value}")
        self.every_n_epochs, self.samples, self.seed = every_n_epochs, samples, seed
        self.impossible = False

    def on_validation_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Look after every n-th epoch."""
        due = (trainer.current_epoch + 1) % self.every_n_epochs == 0
        if trainer.state.fn == "fit" and not trainer.sanity_checking and due:
            self._try(trainer, pl_module, "val")

    def on_test_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Look at the test images."""
        self._try(trainer, pl_module, "test")

    def look(self, scene: Scene) -> None:
        """Compute, save and log; what a subclass is for."""
        raise NotImplementedError

    def _try(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: Stage) -> None:
        if self.impossible or not trainer.is_global_zero:
            return
        folder = Path(trainer.default_root_dir)
        try:
            self.look(Scene(trainer, classifier(pl_module), data_of(trainer), stage, folder))
        except UserError as error:
            self.impossible = True
            rank_zero_warn(f"{type(self).__name__} leaves this run out: {error}")
