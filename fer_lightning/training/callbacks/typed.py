"""A trainer's parts by their own types: Lightning's hooks only promise the base classes."""

from typing import cast

import lightning as L

from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.training.module import Classifier


def data_of(trainer: L.Trainer) -> FERDataModule:
    """The data module of the run."""
    return cast(FERDataModule, trainer.datamodule)  # type: ignore[attr-defined]


def classifier(pl_module: L.LightningModule) -> Classifier:
    """The module that is trained."""
    return cast(Classifier, pl_module)
