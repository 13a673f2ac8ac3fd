"""Plain `nn.Module` classifiers that all answer the questions of `VisionModel`."""

from fer_lightning.models.apvit import APViT, APViT112
from fer_lightning.models.base import NoAttentionError, VisionModel, unwrap
from fer_lightning.models.cnn import CNN
from fer_lightning.models.hybrid_vit import HybridViT
from fer_lightning.models.registry import ENTRIES, MODELS, build, describe, name_of, rebuild
from fer_lightning.models.simple_cnn import SimpleCNN
from fer_lightning.models.small_resnet import SmallResNet
from fer_lightning.models.swin import Swin
from fer_lightning.models.timm_backbone import Timm
from fer_lightning.models.vit import ViT, ViTTiny
from fer_lightning.models.weights import load_weights, read_weights, strip_prefixes

__all__ = [
    "CNN",
    "ENTRIES",
    "MODELS",
    "APViT",
    "APViT112",
    "HybridViT",
    "NoAttentionError",
    "SimpleCNN",
    "SmallResNet",
    "Swin",
    "Timm",
    "ViT",
    "ViTTiny",
    "VisionModel",
    "build",
    "describe",
    "load_weights",
    "name_of",
    "read_weights",
    "rebuild",
    "strip_prefixes",
    "unwrap",
]
