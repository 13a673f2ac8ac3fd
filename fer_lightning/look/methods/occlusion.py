"""Occlusion: how much of a class's logit is lost when a part of the image is hidden."""

from typing import Literal

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.look.frozen import (
    BATCH,
    blank,
    check_images,
    check_target,
    choose,
    frozen_eval,
    plain,
    split_target,
)
from fer_lightning.look.methods.registry import method


def occlusion_map(
    model: nn.Module,
    images: Tensor,
    target: int | Tensor | None = None,
    window: int | None = None,
    stride: int | None = None,
    fill: float | Literal["mean"] = "mean",
    batch_size: int = BATCH,
) -> Tensor:
    """Hide each part of the image in turn and note how far a class's logit falls.

    No gradient is used, so it checks the methods that use one. It costs a forward pass for each
    window: 121 for an image of 48x48 with the defaults.

    Args:
        model: a `VisionModel`.
        images: (N, C, H, W) floats in [0, 1] on the model's device.
        target: the class to explain: None for the predicted one, an int for all images, or (N,).
        window: side of the hidden square in pixels; None takes a sixth of the shorter side.
        stride: pixels from one window to the next; None takes half a window.
        fill: what hides: the image's own mean colour, or a grey level.
        batch_size: images in one forward pass.

    Returns:
        (N, H, W) heat: at each pixel the mean fall over the windows that cover it, where the logit
        rises instead 0.

    Raises:
        UserError: bad images or target, or a window or stride that does not fit.

    >>> from fer_lightning.models import CNN
    >>> occlusion_map(CNN(), torch.rand(2, 1, 48, 48), window=24).shape
    torch.Size([2, 48, 48])
    """
    check_images(images)
    check_target(target, len(images))
    H, W = images.shape[2:]
    window = max(1, min(H, W) // 6) if window is None else window
    stride = max(1, window // 2) if stride is None else stride
    if not 1 <= window <= min(H, W) or not 1 <= stride <= window:
        raise UserError(
            f"expected a window of 1 to {min(H, W)} pixels and a stride of 1 to the window but got "
            f"{window} and {stride}; a larger stride would leave pixels out"
        )
    hidden = window_masks(H, W, window, stride).to(images.device)  # V, H, W
    found = []
    with frozen_eval(model) as inner, torch.no_grad():
        for part, wanted in zip(
            images.split(batch_size), split_target(target, len(images), batch_size), strict=True
        ):
            part = plain(part)
            logits = inner.forward(part)
            classes = choose(logits, wanted)[:, None]
            veil = blank(part, fill)
            total = part.new_zeros(len(part), H, W)
            for mask in hidden:
                fallen = (logits - inner.forward(torch.where(mask, veil, part))).gather(1, classes)
                total += fallen[:, :, None] * mask
            found.append((total / hidden.sum(0)).relu())
    return torch.cat(found)


def window_masks(height: int, width: int, window: int, stride: int) -> Tensor:
    """Return the pixels of each window, (V, H, W) bool.

    Where windows do not fill the image evenly, the last one of a row or column ends at the edge.

    >>> window_masks(1, 4, 1, 1).int().tolist()
    [[[1, 0, 0, 0]], [[0, 1, 0, 0]], [[0, 0, 1, 0]], [[0, 0, 0, 1]]]
    >>> window_masks(3, 3, 2, 2).shape
    torch.Size([4, 3, 3])
    """

    def along(length: int) -> Tensor:
        starts = [*range(0, length - window, stride), length - window]
        place = torch.arange(length)
        return torch.stack([(place >= s) & (place < s + window) for s in starts])

    rows, columns = along(height), along(width)
    return (rows[:, None, :, None] & columns[None, :, None, :]).flatten(0, 1)


@method("occlusion", title="Occlusion", passes=122)
def occlusion_maps(
    model: nn.Module, images: Tensor, target: int | Tensor | None, batch_size: int
) -> Tensor:
    """What hiding each place costs."""
    return occlusion_map(model, images, target, batch_size=batch_size)
