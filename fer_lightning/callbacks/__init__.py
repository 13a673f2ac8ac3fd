"""When to look: what happens around training, epoch by epoch."""

from fer_lightning.callbacks.attention import AttentionCallback
from fer_lightning.callbacks.confusion import ConfusionCallback
from fer_lightning.callbacks.embedding import EmbeddingCallback
from fer_lightning.callbacks.focus import FocusCallback
from fer_lightning.callbacks.grad_cam import GradCAMCallback

__all__ = [
    "AttentionCallback",
    "ConfusionCallback",
    "EmbeddingCallback",
    "FocusCallback",
    "GradCAMCallback",
]
