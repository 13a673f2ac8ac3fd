"""SmoothGrad: the gradient at each pixel, averaged over noisy copies of the image."""

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.look.frozen import (
    BATCH,
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


def smooth_grad(
    model: nn.Module,
    images: Tensor,
    target: int | Tensor | None = None,
    noise: float = 0.1,
    samples: int = 16,
    seed: int = 0,
    batch_size: int = BATCH,
) -> Tensor:
    """Measure how much a class's logit answers to each pixel (Smilkov et al., 2017).

    Args:
        model: a `VisionModel`.
        images: (N, C, H, W) floats in [0, 1] on the model's device.
        target: the class to explain: None for the one predicted without noise, an int, or (N,).
        noise: standard deviation of the noise, in grey levels from 0 to 1.
        samples: noisy copies of each image.
        seed: of the noise, which is the same for each image: a map does not depend on its place
            in the batch.
        batch_size: most images in one pass, but never fewer than `samples`.

    Returns:
        (N, H, W) heat: the mean gradient's absolute values, summed over channels.

    Raises:
        UserError: bad images, target, noise or samples.

    >>> from fer_lightning.models import CNN
    >>> smooth_grad(CNN(), torch.rand(2, 1, 48, 48), samples=4).shape
    torch.Size([2, 48, 48])
    """
    check_images(images)
    check_target(target, len(images))
    if samples < 1 or noise < 0:
        raise UserError(
            f"expected at least one sample and no negative noise but got {samples} and {noise}"
        )
    together = max(1, batch_size // samples)
    found = []
    with frozen_eval(model) as inner:
        generator = torch.Generator().manual_seed(seed)
        shifts = noise * torch.randn(1, samples, *images.shape[1:], generator=generator)
        shifts = shifts.to(images.device)
        for image, wanted in zip(
            images.split(together), split_target(target, len(images), together), strict=True
        ):
            image = plain(image)
            classes = classes_of(inner, image, wanted).repeat_interleave(samples)
            slopes = input_gradient(inner, (image[:, None] + shifts).flatten(0, 1), classes)
            found.append(over_channels(slopes.unflatten(0, (len(image), samples)).mean(1)))
    return torch.cat(found)


@method("smooth_grad", title="SmoothGrad", single_pixels=True, passes=48)
def smooth_grad_maps(
    model: nn.Module, images: Tensor, target: int | Tensor | None, batch_size: int
) -> Tensor:
    """Gradients averaged over noisy copies."""
    return smooth_grad(model, images, target, batch_size=batch_size)
