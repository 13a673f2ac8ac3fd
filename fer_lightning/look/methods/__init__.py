"""Attribution methods, one file each; importing this registers them."""

from fer_lightning.look.methods import (
    attention,
    grad_cam,
    gradient,
    integrated_gradients,
    occlusion,
    smooth_grad,
)
from fer_lightning.look.methods.registry import (
    METHODS,
    Method,
    by_each,
    explain,
    find_method,
    find_methods,
    list_methods,
    method,
)

__all__ = [
    "METHODS",
    "Method",
    "attention",
    "by_each",
    "explain",
    "find_method",
    "find_methods",
    "grad_cam",
    "gradient",
    "integrated_gradients",
    "list_methods",
    "method",
    "occlusion",
    "smooth_grad",
]
