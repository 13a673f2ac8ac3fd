"""Every way to ask a model where it looks, behind one call."""

from typing import Literal, get_args

from torch import Tensor, nn

from fer_lightning.errors import UserError, nearest
from fer_lightning.look.methods.attention import attention_relevance, attention_rollout
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.look.methods.integrated_gradients import integrated_gradients
from fer_lightning.look.methods.occlusion import occlusion_map
from fer_lightning.look.methods.smooth_grad import smooth_grad

Method = Literal[
    "grad_cam",
    "hires_cam",
    "occlusion_map",
    "integrated_gradients",
    "smooth_grad",
    "attention_rollout",
    "attention_relevance",
]
ATTENTION_BATCH = 32  # a batch's attention is kept for all layers at once


def explain(
    model: nn.Module,
    images: Tensor,
    target: int | Tensor | None = None,
    method: Method = "grad_cam",
    batch_size: int = 256,
) -> Tensor:
    """Return a map of each image at the method's own grid, signed if the method is.

    Args:
        model: a `VisionModel`, left as it was.
        images: (N, C, H, W) floats in [0, 1] on the model's device.
        target: the class to explain: None for the predicted one, an int for all images, or (N,).
            Attention rollout knows no class.
        method: a function of `fer_lightning.look`.
        batch_size: images in one pass.

    Returns:
        (N, h, w). Give it to `to_heat`.

    Raises:
        UserError: no such method, or attention of a model that has none.

    >>> import torch
    >>> from fer_lightning.models import ViT
    >>> explain(ViT(), torch.rand(2, 1, 48, 48), method="attention_rollout").shape
    torch.Size([2, 8, 8])
    """
    known = get_args(Method)
    if method not in known:
        raise UserError(f"expected a method but got {method!r}; {nearest(method, known)}")
    if method == "grad_cam" or method == "hires_cam":
        return grad_cam(model, images, target, method, batch_size).signed
    if method == "attention_rollout":
        return attention_rollout(model, images, batch_size=min(batch_size, ATTENTION_BATCH))
    if method == "attention_relevance":
        return attention_relevance(model, images, target, min(batch_size, ATTENTION_BATCH))
    if method == "occlusion_map":
        return occlusion_map(model, images, target, batch_size=batch_size)
    if method == "integrated_gradients":
        return integrated_gradients(model, images, target, batch_size=batch_size)
    return smooth_grad(model, images, target, batch_size=batch_size)
