"""Where a model looks. Every function leaves the model exactly as it found it."""

from fer_lightning.attribution.attention import (
    NoAttentionError,
    attention_relevance,
    attention_rollout,
    cls_attention,
)
from fer_lightning.attribution.contours import draw_overlay
from fer_lightning.attribution.frozen import frozen_eval
from fer_lightning.attribution.grad_cam import Cam, grad_cam
from fer_lightning.attribution.heat import is_zero, match_resolution, to_heat
from fer_lightning.attribution.hot_spots import Box, Contour, find_boxes, find_contours
from fer_lightning.attribution.integrated_gradients import integrated_gradients
from fer_lightning.attribution.occlusion_map import occlusion_map
from fer_lightning.attribution.positions import centre, position_similarity
from fer_lightning.attribution.smooth_grad import smooth_grad

__all__ = [
    "Box",
    "Cam",
    "Contour",
    "NoAttentionError",
    "attention_relevance",
    "attention_rollout",
    "centre",
    "cls_attention",
    "draw_overlay",
    "find_boxes",
    "find_contours",
    "frozen_eval",
    "grad_cam",
    "integrated_gradients",
    "is_zero",
    "match_resolution",
    "occlusion_map",
    "position_similarity",
    "smooth_grad",
    "to_heat",
]
