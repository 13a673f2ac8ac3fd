"""Numbers from tensors: where heat lies.

Nothing here knows a model. Each focus metric is a function of one batch and a `torchmetrics.Metric`
that keeps the value of every image and is right under distributed training.
"""

from fer_lightning.look.metrics.lfr import LocalFocusRatio, local_focus_ratio
from fer_lightning.look.metrics.lsi import (
    LocalSensitivityIndex,
    local_sensitivity_index,
    region_overlap,
)
from fer_lightning.look.metrics.mask_auc import MaskAUC, mask_auc
from fer_lightning.look.metrics.pointing import PointingGame, pointing_game
from fer_lightning.look.metrics.shares import (
    BackgroundShare,
    MassRatio,
    background_share,
    mass_ratio,
)
from fer_lightning.look.metrics.summary import PerSampleMetric, summarise, summarise_ratio

__all__ = [
    "BackgroundShare",
    "LocalFocusRatio",
    "LocalSensitivityIndex",
    "MaskAUC",
    "MassRatio",
    "PerSampleMetric",
    "PointingGame",
    "background_share",
    "local_focus_ratio",
    "local_sensitivity_index",
    "mask_auc",
    "mass_ratio",
    "pointing_game",
    "region_overlap",
    "summarise",
    "summarise_ratio",
]
