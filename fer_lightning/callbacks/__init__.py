"""When to look: what happens around training, epoch by epoch."""

from fer_lightning.callbacks.attention import AttentionCallback
from fer_lightning.callbacks.confusion import ConfusionCallback
from fer_lightning.callbacks.embedding import EmbeddingCallback
from fer_lightning.callbacks.focus import FocusCallback
from fer_lightning.callbacks.grad_cam import GradCAMCallback
from fer_lightning.callbacks.kept_tokens import KeptTokensCallback
from fer_lightning.callbacks.pooling_schedule import PoolingSchedule
from fer_lightning.callbacks.weighting import WeightingCallback

__all__ = [
    "AttentionCallback",
    "ConfusionCallback",
    "EmbeddingCallback",
    "FocusCallback",
    "GradCAMCallback",
    "KeptTokensCallback",
    "PoolingSchedule",
    "WeightingCallback",
]
