"""Integrated gradients: each pixel's share of the way from a blank image to this one."""

from typing import Literal

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.look.frozen import (
    BATCH,
    blank,
    check_images,
    check_target,
    classes_of,
    frozen_eval,
    input_gradient,
    over_channels,
    plain,
    split_target,
)
from fer_lightning.look.methods.registry import method

TOLERANCE = 0.1  # of the logit's difference that shares may miss unsaid
CHECKED = 16  # images on which this is checked


def integrated_gradients(
    model: nn.Module,
    images: Tensor,
    target: int | Tensor | None = None,
    baseline: float | Literal["mean"] = "mean",
    steps: int = 32,
    batch_size: int = BATCH,
) -> Tensor:
    """Measure each pixel's share in a class's logit, for any architecture and without a layer.

    Args:
        model: a `VisionModel`.
        images: (N, C, H, W) floats in [0, 1] on the model's device.
        target: the class to explain: None for the predicted one, an int for all images, or (N,).
        baseline: the blank image: each image's own mean colour, or one grey level. Avoid black for
            a ViT: its first norm is so steep there that 32 steps miss more than half.
        steps: points on the way, at the middle of equal pieces.
        batch_size: most images in one pass, but never fewer than `steps`.

    Returns:
        (N, H, W) heat: absolute values, summed over channels. Give it to `to_heat` to scale it.

    Raises:
        UserError: bad images, target or steps.

    >>> from fer_lightning.models import CNN
    >>> integrated_gradients(CNN(), torch.rand(2, 1, 48, 48), steps=4).shape
    torch.Size([2, 48, 48])
    """
    return over_channels(signed_shares(model, images, target, baseline, steps, batch_size))


def signed_shares(
    model: nn.Module,
    images: Tensor,
    target: int | Tensor | None = None,
    baseline: float | Literal["mean"] = "mean",
    steps: int = 32,
    batch_size: int = BATCH,
) -> Tensor:
    """Return the signed share of each value of each image, (N, C, H, W).

    They add up to the logit's difference between image and baseline, the better the more steps
    (Sundararajan, Taly and Yan, 2017). Arguments as for `integrated_gradients`.

    >>> from fer_lightning.models import ViT
    >>> model, image = ViT(depth=1).eval(), torch.rand(1, 1, 48, 48)
    >>> shares = signed_shares(model, image, target=0, baseline=0.5)
    >>> difference = model(image) - model(torch.full_like(image, 0.5))
    >>> torch.allclose(shares.sum(), difference[0, 0], atol=1e-3)
    True
    """
    check_images(images)
    check_target(target, len(images))
    if steps < 1:
        raise UserError(f"expected at least one step but got {steps}")
    together = max(1, batch_size // steps)  # images whose steps go through the model at once
    found = []
    with frozen_eval(model) as inner:
        weights = (torch.arange(steps, device=images.device) + 0.5) / steps
        for image, wanted in zip(
            images.split(together), split_target(target, len(images), together), strict=True
        ):
            image = plain(image)
            start = blank(image, baseline)
            classes = classes_of(inner, image, wanted).repeat_interleave(steps)
            way = image - start
            points = start[:, None] + weights.view(1, -1, 1, 1, 1) * way[:, None]
            slopes = input_gradient(inner, points.flatten(0, 1), classes)
            found.append(slopes.unflatten(0, (len(image), steps)).mean(1) * way)
    return torch.cat(found)


def completeness_miss(
    model: nn.Module, images: Tensor, target: int | Tensor | None = None, steps: int = 32
) -> Tensor:
    """Measure by which part of the logit's difference the shares miss it, (N,).

    The shares must add up to the difference between image and baseline. Where a model selects
    patches hard, the logit jumps on the way, and no gradient tells of a jump.

    Args:
        model: a `VisionModel`.
        images: (N, C, H, W).
        target: as for `integrated_gradients`.
        steps: as for `integrated_gradients`.

    >>> from fer_lightning.models import ViT
    >>> bool((completeness_miss(ViT(depth=1), torch.rand(2, 1, 48, 48), 0) < 0.1).all())
    True
    """
    with frozen_eval(model) as inner, torch.no_grad():
        images = plain(images)
        classes = classes_of(inner, images, target)[:, None]
        start = blank(images, "mean").expand_as(images)
        difference = (inner.forward(images) - inner.forward(start)).gather(1, classes)[:, 0]
    shares = signed_shares(model, images, classes[:, 0], steps=steps).sum((1, 2, 3))
    return (shares - difference).abs() / difference.abs().clamp(min=1e-6)


def incomplete(model: nn.Module, images: Tensor) -> str | None:
    """Say by how much the shares miss the logit's difference, if by more than `TOLERANCE`."""
    few = images[:CHECKED]
    miss = completeness_miss(model, few).median().item()
    if miss <= TOLERANCE:
        return None
    return (
        f"expected shares that add up to the logit's difference within {TOLERANCE:.0%} but they "
        f"miss it by {miss:.0%} (median of {len(few)} images); the model jumps on the way from a "
        "blank image, as one that selects patches does, so do not read them as shares"
    )


@method(
    "integrated_gradients",
    title="Integrated gradients",
    single_pixels=True,
    passes=96,
    doubt=incomplete,
)
def integrated_gradients_maps(
    model: nn.Module, images: Tensor, target: int | Tensor | None, batch_size: int
) -> Tensor:
    """Gradients summed up on the way from a blank image."""
    return integrated_gradients(model, images, target, batch_size=batch_size)
