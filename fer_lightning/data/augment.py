"""Random flip, rotation and translation of a whole batch at once, on its device."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from fer_lightning.errors import UserError


@dataclass(frozen=True)
class Augmentation:
    """What happens to training images; validation and test images are only scaled.

    Args:
        flip: probability of a horizontal flip.
        rotation: largest angle to either side, in degrees.
        translation: largest shift to either side, as a share of the image's side.
        fill: what stands where the image was shifted away.
    """

    flip: float = 0.5
    rotation: float = 15.0
    translation: float = 0.1
    fill: Literal["zeros", "border", "reflection"] = "zeros"

    def __post_init__(self) -> None:
        for name, value, top in (
            ("flip", self.flip, 1),
            ("rotation", self.rotation, 180),
            ("translation", self.translation, 1),
        ):
            if not 0 <= value <= top:
                raise UserError(f"expected {name} between 0 and {top} but got {value}")

    def __bool__(self) -> bool:
        return self.flip > 0 or self.rotation > 0 or self.translation > 0


def to_float(images: Tensor) -> Tensor:
    """Scale uint8 images to [0, 1]."""
    return images.float().div_(255)


def random_affine(
    batch: int, how: Augmentation, device: torch.device, generator: Generator | None = None
) -> Tensor:
    """Draw one transformation per image, (B, 2, 3): output coordinates to input coordinates.

    >>> random_affine(1, Augmentation(0, 0, 0), torch.device("cpu")).abs().tolist()
    [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
    """
    draw = torch.rand(4, batch, device=device, generator=generator)
    turn, x, y = draw[:3].mul(2).sub_(1).unbind()  # from -1 to 1
    angle = turn * math.radians(how.rotation)
    cos, sin = angle.cos(), angle.sin()
    affine = torch.stack([cos, -sin, x, sin, cos, y], dim=1).view(batch, 2, 3)
    affine[:, :, 2] *= 2 * how.translation  # grid coordinates span 2
    affine[:, 0, :2] *= torch.where(draw[3] < how.flip, -1.0, 1.0)[:, None]
    return affine


def warp(images: Tensor, affine: Tensor, how: Augmentation) -> Tensor:
    """Apply one transformation per image to (B, C, H, W), bilinearly.

    >>> image = torch.arange(4.0).view(1, 1, 2, 2)
    >>> flipped = random_affine(1, Augmentation(1, 0, 0), image.device)
    >>> warp(image, flipped, Augmentation()).flatten().tolist()
    [1.0, 0.0, 3.0, 2.0]
    """
    grid = _grid(affine, *images.shape[-2:])
    return F.grid_sample(images, grid, padding_mode=how.fill, align_corners=False)


def _grid(affine: Tensor, height: int, width: int) -> Tensor:
    """Input coordinates for each output pixel, (B, H, W, 2).

    The same as `F.affine_grid`, as one matrix product instead of B small ones: 20 times as fast
    on a CPU for a batch of 64.
    """
    places = _places(height, width, affine.device)
    return (affine.reshape(-1, 3) @ places).view(-1, 2, height, width).permute(0, 2, 3, 1)


@cache
def _places(height: int, width: int, device: torch.device) -> Tensor:
    """Homogeneous coordinates of the pixels' centres, (3, H·W)."""
    x, y = (torch.linspace(1 / n - 1, 1 - 1 / n, n, device=device) for n in (width, height))
    ones = torch.ones(height, width, device=device)
    return torch.stack([x.expand_as(ones), y[:, None].expand_as(ones), ones]).view(3, -1)


def augment(images: Tensor, how: Augmentation, generator: Generator | None = None) -> Tensor:
    """Flip, rotate and shift each image of a batch by its own random amount."""
    if not how:
        return images
    return warp(images, random_affine(len(images), how, images.device, generator), how)
