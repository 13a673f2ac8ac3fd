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
from torch import Tensor, nn

from fer_lightning.data.augment import to_float
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.data.masks import find_masks, regions_of, template
from fer_lightning.data.regions import FACE, Regions
from fer_lightning.data.splits import probe_rows
from fer_lightning.errors import UserError
from fer_lightning.keys import Stage, key
from fer_lightning.look.focus import Sample
from fer_lightning.look.methods import find_method
from fer_lightning.models import VisionModel, name_of
from fer_lightning.runs.folder import atomic
from fer_lightning.screen import Screen, say
from fer_lightning.tracking.tracker import FeatureTracker, MetricsCSV, Tracker, show_picture

TRAINING_PASSES = 3  # forward passes that training with one image is worth
DPI = 200  # of saved pictures: a double-column figure prints sharply


class Probe(NamedTuple):
    """The images that are looked at, the same in each epoch and for each model."""

    rows: NDArray[np.int64]  # (N,) in the data set
    images: Tensor  # (N, C, H, W) floats on the model's device, as the model takes them
    labels: Tensor  # (N,) on the CPU
    faces: NDArray[np.uint8]  # (N, C, H, W) to be shown

    def at(self, places: Tensor) -> "Probe":
        """Keep the images at these places."""
        here = places.cpu().numpy()
        there = places.to(self.images.device)
        return Probe(self.rows[here], self.images[there], self.labels[places], self.faces[here])


@dataclass(frozen=True)
class LookContext:
    """One look: a model in one epoch, its data, and the places for what is found.

    The LightningModule may be anybody's, as long as a `VisionModel` is in it; so may the data,
    whose batches then start with images and labels.
    """

    trainer: L.Trainer
    module: L.LightningModule
    stage: Stage
    face_template: bool = False

    @property
    def net(self) -> VisionModel:
        """The model that is looked at."""
        return vision_model(self.module)

    @property
    def data(self) -> FERDataModule | None:
        """Our data module, or None where the data are somebody else's."""
        found = getattr(self.trainer, "datamodule", None)
        return found if isinstance(found, FERDataModule) else None

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes: the data module's, or numbers."""
        names = getattr(getattr(self.trainer, "datamodule", None), "classes", None)
        return tuple(map(str, names or range(self.net.init_args["num_classes"])))

    @property
    def folder(self) -> Path:
        """The run folder, or where the trainer's own logger writes."""
        if not any(isinstance(logger, MetricsCSV) for logger in self.trainer.loggers):
            for logger in self.trainer.loggers:
                if place := getattr(logger, "log_dir", None) or getattr(logger, "save_dir", None):
                    return Path(place)
        return Path(self.trainer.default_root_dir)

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
        when = f"epoch {self.epoch}"
        if self.data is None:
            data = type(getattr(self.trainer, "datamodule", None) or self.module).__name__
            when = "test images" if self.stage == "test" else when
        else:
            image_set = self.data.image_set
            data = f"{image_set.name} ({image_set.fingerprint})"
            tested = "last" if self.data.split.protocol == "train_test" else "best"
            when = f"{tested} epoch, test images" if self.stage == "test" else when
        return f"{what}: {name_of(self.net)}, {when}, {data}"

    def probe(self, samples: int, seed: int) -> Probe:
        """Choose validation images in training and test images afterwards."""
        if self.data is None:
            return self._first_images(samples)
        data = self.data.image_set
        rows = probe_rows(getattr(self.data.split, self.stage), samples, seed, data.fingerprint)
        faces = np.ascontiguousarray(data.images[rows])
        images = to_float(torch.from_numpy(faces).to(self.module.device))
        return Probe(rows, images, torch.from_numpy(data.labels[rows]), faces)

    def _first_images(self, samples: int) -> Probe:
        """The first images of somebody else's validation or test loader."""
        trainer: Any = self.trainer
        loaders = trainer.test_dataloaders if self.stage == "test" else trainer.val_dataloaders
        images: list[Tensor] = []
        labels: list[Tensor] = []
        for batch in loaders[0] if isinstance(loaders, list | tuple) else loaders:
            match batch:
                case [Tensor() as x, Tensor() as y, *_] if x.ndim == 4:
                    images.append(x)
                    labels.append(y.long().cpu())
                case _:
                    raise UserError(
                        "expected batches that start with images (B, C, H, W) and labels but got "
                        f"{type(batch).__name__}; let the data loader return (images, labels)"
                    )
            if sum(map(len, images)) >= samples:
                break
        x = torch.cat(images)[:samples]
        low, high = x.amin((1, 2, 3), keepdim=True), x.amax((1, 2, 3), keepdim=True)
        faces = ((x - low) / (high - low).clamp(min=1e-6) * 255).round().byte().cpu().numpy()
        rows = np.arange(len(x))
        return Probe(rows, x.float().to(self.module.device), torch.cat(labels)[:samples], faces)

    @property
    def regions(self) -> Regions:
        """The regions of the data.

        Raises:
            UserError: there are none.
        """
        if self.data is not None:
            return regions_of(self.data.image_set)
        if self.face_template:
            return FACE
        raise UserError(
            "expected data with regions but got a data module that has none; use FERDataModule, "
            "or face_template=True where every picture is an upright face"
        )

    def sample(self, probe: Probe) -> tuple[Sample, Probe]:
        """Add masks to the probe images; images without the primary region are left out."""
        regions = self.regions
        if self.data is None:
            size = (probe.images.shape[2], probe.images.shape[3])
            stacked = np.stack([template(size)[name] for name in regions.order])
            masks = torch.from_numpy(np.repeat(stacked[None], len(probe.rows), axis=0))
            words = ("template",) * len(masks)
        else:
            found, words = find_masks(
                self.data.image_set, probe.rows, landmarks=self.data.landmarks
            )
            masks = torch.from_numpy(found)
        area = masks[:, regions.row(regions.primary)].flatten(1).sum(1)
        keep = ((area > 0) & (area < masks[0, 0].numel())).nonzero().flatten()
        if len(keep) == 0:
            raise UserError(
                f"expected images with '{regions.primary}' but none of {len(masks)} has any of it; "
                "look at more images or check the label maps"
            )
        probe = probe.at(keep)
        words = tuple(words[i] for i in keep.tolist())
        return Sample(probe.images, probe.labels, masks[keep], regions, words), probe

    def log(self, numbers: dict[tuple[str, ...], float]) -> None:
        """Log numbers under ``<stage>/<name>``; only rank zero has them."""
        for names, value in numbers.items():
            self.module.log(key(self.stage, *names), value, rank_zero_only=True)

    def save(self, figure: Figure, kind: str) -> Path:
        """Save a picture as ``<kind>/<name>.png`` in the run folder and show it on the loggers."""
        path = self.folder / kind / f"{self.name}.png"
        picture = io.BytesIO()
        figure.savefig(picture, dpi=DPI, format="png")
        with self.writing(path, "wb") as file:
            file.write(picture.getvalue())
        for logger in self.trainer.loggers:
            show_picture(logger, key(self.stage, kind), path, self.epoch)
        return path

    def show_features(self, features: Tensor, probe: Probe) -> None:
        """Show where the probe images lie in feature space, on trackers that can."""
        labels = [self.classes[label] for label in probe.labels.tolist()]
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


def vision_model(module: nn.Module) -> VisionModel:
    """Find the model in a LightningModule.

    Raises:
        UserError: there is none, or more than one.

    >>> from fer_lightning.models import CNN
    >>> vision_model(nn.Sequential(CNN())).init_args["num_classes"]
    7
    """
    net = getattr(module, "net", None)
    if isinstance(net, VisionModel):
        return net
    found = [part for part in module.modules() if isinstance(part, VisionModel)]
    if len(found) != 1:
        raise UserError(
            f"expected one VisionModel in {type(module).__name__} but found {len(found)}; keep "
            "the model to look at as its attribute 'net'"
        )
    return found[0]


def price(passes: float, data: FERDataModule | None) -> str:
    """Say what looking costs, in forward passes and as a share of an epoch.

    >>> price(1000.0, None)
    'Looking at the model costs about 1,000 forward passes of one image per epoch.'
    """
    words = f"Looking at the model costs about {passes:,.0f} forward passes of one image per epoch"
    if data is None:
        return f"{words}."
    # a training step is worth three forward passes: its own, and twice that for the gradients
    epoch = TRAINING_PASSES * len(data.split.train) + len(data.split.val)
    return f"{words}, {100 * passes / epoch:.1f} % of an epoch."


class Look(L.Callback):
    """Looks at the model at the end of validation epochs, and once more with the test images.

    It works on rank zero alone, which holds all images, so that the number of processes changes
    nothing. Where a look is impossible (a model without attention, too few images) it says why,
    once, and the run goes on. It works in any Trainer around a `VisionModel`.

    Args:
        every_n_epochs: look after each n-th epoch of training.
        samples: number of images.
        seed: chooses the images; the same ones for each model, epoch and training seed.
    """

    only_looks = True  # it changes nothing, so that a run with it is the same run
    face_template = False

    def __init__(self, every_n_epochs: int = 1, samples: int = 200, seed: int = 0) -> None:
        for name, value in (("every_n_epochs", every_n_epochs), ("samples", samples)):
            if value < 1:
                raise UserError(f"expected {name} of at least 1 but got {value}")
        self.every_n_epochs, self.samples, self.seed = every_n_epochs, samples, seed
        self.impossible = False
        self.methods: list[str] = []  # attribution methods, in subclasses that use some

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Say once, for all callbacks that look, what this costs at the end of epochs."""
        looks = [one for one in trainer.callbacks if isinstance(one, Look)]  # type: ignore[attr-defined]
        if looks[0] is self and trainer.is_global_zero:
            context = LookContext(trainer, pl_module, "val", self.face_template)
            passes = sum(one.passes(context) / one.every_n_epochs for one in looks)
            say(Screen(), price(passes, context.data))  # Lightning's own lines are silenced

    def passes(self, context: LookContext) -> float:
        """The price of one look in forward passes of one image."""
        each = sum(find_method(name).passes for name in self.methods) if self.methods else 1.0
        return self.samples * each

    def leave_out(self, name: str, why: str) -> None:
        """Go on without a method that the model cannot do, and say so; it is not tried again."""
        self.methods.remove(name)
        rank_zero_warn(f"{type(self).__name__} leaves {find_method(name).title} out: {why}")

    def on_validation_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Look after every n-th epoch."""
        due = (trainer.current_epoch + 1) % self.every_n_epochs == 0
        if trainer.state.fn == "fit" and not trainer.sanity_checking and due:
            self._try(trainer, pl_module, "val")

    def on_test_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Look at the test images."""
        self._try(trainer, pl_module, "test")

    def look(self, context: LookContext) -> None:
        """Compute, save and log; what a subclass is for."""
        raise NotImplementedError

    def _try(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: Stage) -> None:
        if self.impossible or not trainer.is_global_zero:
            return
        try:
            self.look(LookContext(trainer, pl_module, stage, self.face_template))
        except UserError as error:
            self.impossible = True
            rank_zero_warn(self.why_not(error))

    def why_not(self, error: UserError) -> str:
        """Say that this callback is of no use in a run."""
        return f"{type(self).__name__} leaves this run out: {error}"
