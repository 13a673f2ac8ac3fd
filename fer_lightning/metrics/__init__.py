"""Numbers from tensors; nothing here knows a model."""

from fer_lightning.metrics.classification import classification_metrics, ece_floor

__all__ = ["classification_metrics", "ece_floor"]
