"""What is hidden from a model: patches of a given area, and what is put in their place."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad

from fer_lightning.errors import UserError

Fill = Literal["mean", "blur"]
BLUR = 1 / 8  # standard deviation as a share of the side: 6 pixels of 48, wider than an eye is high


def central_patch(area: Tensor, size: tuple[int, int]) -> Tensor:
    """Cover the middle of the picture with exactly so many pixels, as a square as nearly as can be.

    Args:
        area: (N,) pixels to cover.
        size: height and width.

    Returns:
        (N, H, W) bool.

    >>> central_patch(torch.tensor([4]), (4, 4))[0].int()
    tensor([[0, 0, 0, 0],
            [0, 1, 1, 0],
            [0, 1, 1, 0],
            [0, 0, 0, 0]], dtype=torch.int32)
    """
    middle = torch.tensor([(size[0] - 1) / 2, (size[1] - 1) / 2])
    return _nearest(middle.expand(len(area), 1, 2), area, size)


def random_patches(area: Tensor, size: tuple[int, int], pieces: int, seed: int) -> Tensor:
    """Cover exactly so many pixels with squares around random places.

    The squares of an image are equally large; where they overlap, all grow until the area is right.
    One that reaches over an edge goes on at the opposite one, so that every pixel is covered
    equally often, those of the key regions too.

    Args:
        area: (N,) pixels to cover.
        size: height and width.
        pieces: squares per image.
        seed: of the places.

    Returns:
        (N, H, W) bool.

    >>> random_patches(torch.tensor([50, 700]), (48, 48), pieces=3, seed=0).sum((1, 2)).tolist()
    [50, 700]
    """
    generator = torch.Generator().manual_seed(seed)
    share = torch.rand(len(area), pieces, 2, generator=generator)
    return _nearest(share * torch.tensor(size) - 0.5, area, size)


def _nearest(places: Tensor, area: Tensor, size: tuple[int, int]) -> Tensor:
    """Mark the `area` pixels nearest to any of the (N, K, 2) places, in the larger of dy and dx."""
    dy = (torch.arange(size[0]) - places[..., :1]).abs()  # (N, K, H)
    dx = (torch.arange(size[1]) - places[..., 1:]).abs()  # (N, K, W)
    dy, dx = torch.minimum(dy, size[0] - dy), torch.minimum(dx, size[1] - dx)  # around the edges
    distance = torch.maximum(dy[..., :, None], dx[..., None, :]).amin(1)  # (N, H, W)
    rank = distance.flatten(1).argsort(dim=1, stable=True).argsort(dim=1)
    return (rank < area.cpu()[:, None]).view_as(distance)


def hide(images: Tensor, hidden: Tensor, fill: Fill) -> Tensor:
    """Put the image's own mean, or its blurred self, in place of the hidden pixels.

    Args:
        images: (N, C, H, W) floats.
        hidden: (N, H, W) bool.
        fill: "mean" of each channel over the whole image, or Gaussian "blur".

    Raises:
        UserError: another fill.

    >>> image = torch.tensor([[[[0.0, 1.0], [2.0, 5.0]]]])
    >>> hide(image, torch.tensor([[[True, False], [False, False]]]), "mean")[0, 0].tolist()
    [[2.0, 1.0], [2.0, 5.0]]
    """
    if fill not in ("mean", "blur"):
        raise UserError(f"expected fill 'mean' or 'blur' but got {fill!r}; choose one of them")
    instead = images.mean((2, 3), keepdim=True) if fill == "mean" else blur(images)
    return torch.where(hidden[:, None].to(images.device), instead, images)


def blur(images: Tensor, share: float = BLUR) -> Tensor:
    """Blur with a Gaussian whose standard deviation is a share of the side; edges are mirrored."""
    C = images.shape[1]
    for axis in (2, 3):
        side = images.shape[axis]
        reach = min(round(3 * share * side), side - 1)  # mirroring cannot go further
        offset = torch.arange(-reach, reach + 1, device=images.device, dtype=images.dtype)
        weights = torch.exp(-0.5 * (offset / (share * side)) ** 2)
        kernel = (weights / weights.sum()).view((-1, 1) if axis == 2 else (1, -1))
        edges = (0, 0, reach, reach) if axis == 2 else (reach, reach, 0, 0)
        mirrored = pad(images, edges, mode="reflect")
        images = conv2d(mirrored, kernel.expand(C, 1, *kernel.shape), groups=C)
    return images
