"""Where a model looks. Every function leaves the model exactly as it found it."""

from fer_lightning.attribution.grad_cam import Cam, grad_cam
from fer_lightning.attribution.heat import is_zero, match_resolution, to_heat

__all__ = ["Cam", "grad_cam", "is_zero", "match_resolution", "to_heat"]
