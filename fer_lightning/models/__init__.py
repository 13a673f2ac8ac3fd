"""Plain `nn.Module` classifiers that all answer the questions of `VisionModel`."""

# isort: off  (importing a model registers it: in the order in which they are listed)
from fer_lightning.models.apvit import APViT, APViT112

# isort: on
from fer_lightning.models.base import NoAttentionError, VisionModel, unwrap
from fer_lightning.models.cnn import CNN
from fer_lightning.models.flagship import Flagship
from fer_lightning.models.hybrid_vit import HybridViT
from fer_lightning.models.registry import (
    MODELS,
    build,
    create_model,
    describe,
    find_model,
    list_models,
    name_of,
    rebuild,
    register_model,
)
from fer_lightning.models.simple_cnn import SimpleCNN
from fer_lightning.models.small_resnet import SmallResNet
from fer_lightning.models.swin import Swin
from fer_lightning.models.timm_backbone import Timm
from fer_lightning.models.vit import ViT, ViTTiny
from fer_lightning.models.weights import load_weights, read_weights, strip_prefixes

__all__ = [
    "CNN",
    "MODELS",
    "APViT",
    "APViT112",
    "Flagship",
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
    "create_model",
    "describe",
    "find_model",
    "list_models",
    "load_weights",
    "name_of",
    "read_weights",
    "rebuild",
    "register_model",
    "strip_prefixes",
    "unwrap",
]
