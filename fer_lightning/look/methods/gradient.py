"""The gradient at each pixel: the cheapest way to ask which pixels a class's logit answers to."""

import torch
from torch import Tensor, nn

from fer_lightning.look.frozen import (
    BATCH,
    check_images,
    check_target,
    choose,
    frozen_eval,
    over_channels,
    plain,
    split_target,
)
from fer_lightning.look.methods.registry import method


def input_gradient_map(
    model: nn.Module,
    images: Tensor,
    target: int | Tensor | None = None,
    batch_size: int = BATCH,
) -> Tensor:
    """Measure how much a class's logit changes with each pixel (Simonyan et al., 2014).

    Args:
        model: a `VisionModel`.
        images: (N, C, H, W) floats in [0, 1] on the model's device.
        target: the class to explain: None for the predicted one, an int for all images, or (N,).
        batch_size: images in one forward pass.

    Returns:
        (N, H, W) heat: the gradient's absolute values, summed over channels.

    Raises:
        UserError: bad images or target.

    >>> from fer_lightning.models import CNN
    >>> input_gradient_map(CNN(), torch.rand(2, 1, 48, 48)).shape
    torch.Size([2, 48, 48])
    """
    check_images(images)
    check_target(target, len(images))
    wanted = split_target(target, len(images), batch_size)
    found = []
    with frozen_eval(model) as inner:
        for part, given in zip(images.split(batch_size), wanted, strict=True):
            pixels = plain(part).clone().requires_grad_()
            logits = inner.forward(pixels)  # one pass tells the class and the slope
            score = logits.gather(1, choose(logits, given)[:, None]).sum()
            found.append(over_channels(torch.autograd.grad(score, pixels)[0]))
    return torch.cat(found)


@method("gradient", title="Gradient", single_pixels=True, passes=3)
def gradient_maps(
    model: nn.Module, images: Tensor, target: int | Tensor | None, batch_size: int
) -> Tensor:
    """How much the logit changes with each pixel."""
    return input_gradient_map(model, images, target, batch_size)
