"""What a training step costs beside the model, measured with a model that does almost nothing."""

import lightning as L
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from benchmarks.harness import Clock, Row, compare, trainer
from fer_lightning.data.augment import Augmentation, to_float
from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.models import VisionModel
from fer_lightning.training.callbacks.epoch_seed import EpochSeed
from fer_lightning.training.callbacks.progress import Progress
from fer_lightning.training.module import Classifier

STEPS = 300
BATCH = 8


class Tiny(VisionModel):
    """One linear layer on one pixel of each image."""

    def __init__(self, num_classes: int = 7, in_chans: int = 1, image_size: int = 48) -> None:
        super().__init__()
        self.head = nn.Linear(1, num_classes)

    def features(self, x: Tensor) -> Tensor:
        return x[:, 0, 0, :1]

    @property
    def cam_layer(self) -> nn.Module:
        return self.head

    def to_grid(self, activation: Tensor) -> Tensor:
        return activation


class Empty(L.LightningModule):
    """The same model in the smallest LightningModule there can be."""

    def __init__(self) -> None:
        super().__init__()
        self.net = Tiny()

    def training_step(self, batch, batch_idx):
        images, labels = batch
        return nn.functional.cross_entropy(self.net(images), labels)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-4)


def steps(module: L.LightningModule, data, *callbacks: L.Callback, bar: bool) -> float:
    clock = Clock()
    trainer(STEPS, *callbacks, clock, bar=bar).fit(module, data)
    return clock.seconds


def measure() -> list[Row]:
    size = STEPS * BATCH * 10 // 8 + 70
    data = FERDataModule(source="drawn", drawn=Drawn(size=size), batch_size=BATCH)
    data.setup("fit")
    part = data.parts["train"]
    images = to_float(torch.from_numpy(part.images[part.rows]))
    batches = list(zip(images.split(BATCH), part.label.split(BATCH), strict=True))
    ready = DataLoader(batches, batch_size=None)
    rows = []
    for name, how in (("with", Augmentation()), ("without", Augmentation(0, 0, 0))):
        data.augmentation = how
        rows.append(
            compare(
                f"tiny model, {STEPS} steps of {BATCH}: our module and data path, {name} "
                "augmentation, against an empty module on ready batches",
                lambda: steps(Classifier(Tiny()), data, EpochSeed(0), Progress(), bar=True),
                lambda: steps(Empty(), ready, bar=False),
                target=1.2,
            )
        )
    return rows
