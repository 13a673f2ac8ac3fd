"""Attribution methods, one file each; importing this registers them."""

from fer_lightning.look.methods import (
    attention,
    grad_cam,
    integrated_gradients,
    occlusion,
    smooth_grad,
)
from fer_lightning.look.methods.registry import (
    METHODS,
    Method,
    explain,
    find_method,
    list_methods,
    method,
)

__all__ = [
    "METHODS",
    "Method",
    "attention",
    "explain",
    "find_method",
    "grad_cam",
    "integrated_gradients",
    "list_methods",
    "method",
    "occlusion",
    "smooth_grad",
]
