"""Masks that differ from the given ones: does a focus number hang on where exactly they end?"""

from typing import Literal

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import conv2d

from fer_lightning.errors import UserError

Variant = Literal["given", "template", "area_matched", "dilated", "eroded", "shuffled"]
MARGIN = 2.0  # pixels of a 48x48 picture


def margin(size: tuple[int, int], pixels: float = MARGIN) -> int:
    """Scale a number of pixels at 48x48 to another picture size, to one pixel at least.

    >>> margin((48, 48)), margin((112, 112)), margin((16, 16))
    (2, 5, 1)
    """
    return max(1, round(pixels * min(size) / 48))


def dilate(masks: Tensor, radius: int) -> Tensor:
    """Add all pixels within a Euclidean distance: (..., H, W) bool → the same shape.

    >>> dilate(torch.tensor([[0, 0, 1, 0]]).bool(), 1).int()
    tensor([[0, 1, 1, 1]], dtype=torch.int32)
    """
    offset = torch.arange(-radius, radius + 1, device=masks.device)
    disk = (offset**2 + offset[:, None] ** 2 <= radius**2).float()
    H, W = masks.shape[-2:]
    touched = conv2d(masks.reshape(-1, 1, H, W).float(), disk[None, None], padding=radius)
    return (touched > 0.5).view_as(masks)


def erode(masks: Tensor, radius: int) -> Tensor:
    """Take away all pixels within a Euclidean distance of the outside; a mask may become empty.

    A mask that reaches the edge of the picture is taken to go on beyond it.

    >>> erode(torch.tensor([[1, 1, 1, 0]]).bool(), 1).int()
    tensor([[1, 1, 0, 0]], dtype=torch.int32)
    """
    return ~dilate(~masks, radius)


def derangement(n: int, seed: int) -> Tensor:
    """Return a random order, (n,), in which nothing stays at its place: one cycle through all.

    Raises:
        UserError: fewer than two things.

    >>> derangement(4, seed=0).tolist()
    [2, 0, 3, 1]
    """
    if n < 2:
        raise UserError(f"expected at least 2 images to exchange masks but got {n}; take more")
    cycle = np.random.default_rng(seed).permutation(n)
    order = np.empty(n, np.int64)
    order[cycle] = np.roll(cycle, 1)
    return torch.from_numpy(order)


def shuffle(masks: Tensor, seed: int) -> Tensor:
    """Give each image the masks of another one, (N, R, H, W) → the same shape."""
    return masks[derangement(len(masks), seed).to(masks.device)]


def same_area(masks: Tensor, areas: Tensor) -> Tensor:
    """Grow or shrink each mask by distance until it has a given area.

    Of pixels at the same distance from the mask's border, those nearest to its middle come first.

    Args:
        masks: (N, R, H, W) bool; an empty mask stays empty.
        areas: (R,) pixels.

    >>> mask = torch.zeros(1, 1, 5, 5, dtype=torch.bool)
    >>> mask[..., 2, 2] = True
    >>> same_area(mask, torch.tensor([5]))[0, 0].int().tolist()[1:4]
    [[0, 0, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 0, 0]]
    """
    H, W = masks.shape[-2:]
    y, x = np.mgrid[:H, :W]
    found = np.zeros((*masks.shape[:2], H * W), bool)
    for n, of_image in enumerate(masks.cpu().numpy()):
        for r, mask in enumerate(of_image):
            if not mask.any():
                continue
            away = _distance(~mask) - _distance(mask)  # negative inside
            middle = (y - y[mask].mean()) ** 2 + (x - x[mask].mean()) ** 2
            order = np.lexsort((middle.ravel(), away.ravel()))
            found[n, r, order[: int(areas[r])]] = True
    return torch.from_numpy(found).view_as(masks)


def _distance(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Of each pixel of a mask, (H, W), to the nearest one outside; a large one if there is none."""
    if mask.all():
        return np.full(mask.shape, np.float32(sum(mask.shape)))
    exact = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    return np.asarray(exact, np.float32)


def variants(masks: Tensor, seed: int, template: Tensor | None = None) -> dict[Variant, Tensor]:
    """Return the masks as given, dilated and eroded by two pixels at 48x48, and shuffled.

    With a template, also the template for each image, and each image's own masks grown or shrunk
    to its areas: do numbers differ because regions lie elsewhere, or because they are smaller?

    Each mask is changed by itself: KEY dilated is not the union of what lies in it dilated, though
    the two are equal; eroded, the border between touching regions stays in KEY.

    Args:
        masks: (N, R, H, W) bool.
        seed: of the shuffle.
        template: (R, H, W), where the given masks are regions of each face.

    Returns:
        By name, (N, R, H, W). `shuffled` is missing where it would change nothing: one image, or
        the same masks for all. Eroded masks may be empty.

    >>> same_for_all = torch.eye(6).bool().expand(3, 1, 6, 6)
    >>> list(variants(same_for_all, seed=0))
    ['given', 'dilated', 'eroded']
    """
    radius = margin((masks.shape[-2], masks.shape[-1]))
    found: dict[Variant, Tensor] = {"given": masks}
    if template is not None:
        found["template"] = template.expand_as(masks)
        found["area_matched"] = same_area(masks, template.flatten(1).sum(1))
    found |= {"dilated": dilate(masks, radius), "eroded": erode(masks, radius)}
    if (masks != masks[:1]).any():
        found["shuffled"] = shuffle(masks, seed)
    return found
