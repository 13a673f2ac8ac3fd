"""When to look: what happens around training, epoch by epoch."""

from fer_lightning.look.callbacks.attention import AttentionCallback
from fer_lightning.look.callbacks.confusion import ConfusionCallback
from fer_lightning.look.callbacks.embedding import EmbeddingCallback
from fer_lightning.look.callbacks.focus import FocusCallback
from fer_lightning.look.callbacks.grad_cam import GradCAMCallback
from fer_lightning.look.callbacks.kept_tokens import KeptTokensCallback
from fer_lightning.look.callbacks.weighting import WeightingCallback
from fer_lightning.training.callbacks.pooling_schedule import PoolingSchedule

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
