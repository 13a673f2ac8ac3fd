"""Plain `nn.Module` classifiers that all answer the questions of `VisionModel`."""

from fer_lightning.models.base import NoAttentionError, VisionModel
from fer_lightning.models.cnn import CNN
from fer_lightning.models.registry import ENTRIES, MODELS, build, describe, name_of, rebuild
from fer_lightning.models.vit import ViT

__all__ = [
    "CNN",
    "ENTRIES",
    "MODELS",
    "NoAttentionError",
    "ViT",
    "VisionModel",
    "build",
    "describe",
    "name_of",
    "rebuild",
]
