"""Batches ready for the model: ours against torchvision on PIL images, 0 workers each."""

from types import SimpleNamespace

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from benchmarks.harness import Row, compare
from fer_lightning.data.datamodule import Drawn, FERDataModule

IMAGES = 1750


class PilFaces(Dataset):
    """What most FER code does: one PIL image at a time, transformed by torchvision."""

    transform = transforms.Compose(
        [
            transforms.RandomHorizontalFlip(0.5),
            transforms.RandomAffine(
                15, translate=(0.1, 0.1), interpolation=transforms.InterpolationMode.BILINEAR
            ),
            transforms.ToTensor(),
        ]
    )

    def __init__(self, part):
        self.images = [Image.fromarray(image[0]) for image in part.images[part.rows]]
        self.labels = part.label.tolist()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, place):
        return self.transform(self.images[place]), self.labels[place]


def measure() -> list[Row]:
    data = FERDataModule(source="drawn", drawn=Drawn(size=IMAGES))
    data.setup("fit")
    data.trainer = SimpleNamespace(training=True, global_rank=0, world_size=1)
    loader = data.train_dataloader()
    pil = DataLoader(PilFaces(data.parts["train"]), batch_size=64, shuffle=True)

    def ours():
        return [data.on_after_batch_transfer(batch, 0).image for batch in loader]

    def theirs():
        return [images for images, _ in pil]

    assert torch.cat(ours()).shape == torch.cat(theirs()).shape
    return [compare("batches ready for the model (8x = 0.125)", ours, theirs, target=0.125)]
