"""What the methods share that look at pixels, and so need no layer of the model."""

from typing import Literal

import torch
from torch import Tensor

from fer_lightning.attribution.target import choose
from fer_lightning.models.base import VisionModel


def input_gradient(model: VisionModel, images: Tensor, classes: Tensor) -> Tensor:
    """Return the gradient of the logit of each image's class, (B, C, H, W).

    Args:
        model: inside `frozen_eval`.
        images: (B, C, H, W).
        classes: (B,).
    """
    images = images.detach().clone().requires_grad_()
    score = model.forward(images).gather(1, classes[:, None]).sum()
    return torch.autograd.grad(score, images)[0]


def classes_of(model: VisionModel, images: Tensor, target: int | Tensor | None) -> Tensor:
    """Return the class to explain for each image, (B,); the predicted one costs a forward pass.

    Args:
        model: inside `frozen_eval`.
        images: (B, C, H, W).
        target: as for `choose`.
    """
    with torch.no_grad():
        return choose(model.forward(images), target)


def over_channels(attribution: Tensor) -> Tensor:
    """Return heat, (B, H, W), of signed attributions, (B, C, H, W): the sum of absolute values.

    >>> over_channels(torch.tensor([[[[1.0]], [[-2.0]]]]))
    tensor([[[3.]]])
    """
    return attribution.abs().sum(1)


def blank(images: Tensor, fill: float | Literal["mean"]) -> Tensor:
    """Return what stands for "nothing to see", (B, C, 1, 1): a grey level or the images' own mean.

    >>> blank(torch.tensor([[[[0.25, 0.75]]]]), "mean").item()
    0.5
    """
    if fill == "mean":
        return images.mean((2, 3), keepdim=True)
    return images.new_full((*images.shape[:2], 1, 1), fill)
