"""Numbers from tensors: where heat lies, how features separate, how good predictions are.

Nothing here knows a model. Each focus metric is a function of one batch and a `torchmetrics.Metric`
that keeps the value of every image and is right under distributed training.
"""

from fer_lightning.metrics.background import BackgroundShare, background_share
from fer_lightning.metrics.classification import classification_metrics, ece_floor
from fer_lightning.metrics.embedding import embedding_quality, tsne
from fer_lightning.metrics.lfr import LocalFocusRatio, local_focus_ratio
from fer_lightning.metrics.lsi import (
    LocalSensitivityIndex,
    local_sensitivity_index,
    region_overlap,
)
from fer_lightning.metrics.mask_auc import MaskAUC, mask_auc
from fer_lightning.metrics.mass import MassRatio, mass_ratio
from fer_lightning.metrics.per_sample import PerSampleMetric
from fer_lightning.metrics.pointing import PointingGame, pointing_game
from fer_lightning.metrics.summary import summarise, summarise_ratio

__all__ = [
    "BackgroundShare",
    "LocalFocusRatio",
    "LocalSensitivityIndex",
    "MaskAUC",
    "MassRatio",
    "PerSampleMetric",
    "PointingGame",
    "background_share",
    "classification_metrics",
    "ece_floor",
    "embedding_quality",
    "local_focus_ratio",
    "local_sensitivity_index",
    "mask_auc",
    "mass_ratio",
    "pointing_game",
    "region_overlap",
    "summarise",
    "summarise_ratio",
    "tsne",
]
