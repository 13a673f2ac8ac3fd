"""Random flip, rotation, translation and erasing of a whole batch at once, on its device."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from fer_lightning.errors import UserError

ERASED = 0.02, 0.2  # share of an image that may be erased
MOST_OBLONG = 3.3  # how much longer one side of it may be than the other


@dataclass(frozen=True)
class Augmentation:
    """What happens to training images; validation and test images are only scaled.

    Args:
        flip: probability of a horizontal flip.
        rotation: largest angle to either side, in degrees.
        translation: largest shift to either side, as a share of the image's side.
        crop: largest shift to either side in whole pixels: the random crop after padding by as
            many, instead of `translation`.
        fill: what stands where the image was shifted away.
        erase: probability that a rectangle of 2 to 20 % of the image becomes the image's mean
            (random erasing, Zhong et al., 2020).
    """

    flip: float = 0.5
    rotation: float = 15.0
    translation: float = 0.1
    crop: int = 0
    fill: Literal["zeros", "border", "reflection"] = "zeros"
    erase: float = 0.0

    def __post_init__(self) -> None:
        for name, value, top in (
            ("flip", self.flip, 1),
            ("rotation", self.rotation, 180),
            ("translation", self.translation, 1),
            ("crop", self.crop, 1000),
            ("erase", self.erase, 1),
        ):
            if not 0 <= value <= top:
                raise UserError(f"expected {name} between 0 and {top} but got {value}")
        if self.crop and self.translation:
            raise UserError(
                f"expected either translation or crop but got {self.translation} and {self.crop}; "
                "set one of them to 0"
            )

    def __bool__(self) -> bool:
        return any((self.moves, self.erase))

    @property
    def moves(self) -> bool:
        """Whether pixels change their places."""
        return any((self.flip, self.rotation, self.translation, self.crop))


def to_float(images: Tensor) -> Tensor:
    """Scale uint8 images to [0, 1]."""
    return images / 255


def random_affine(
    batch: int,
    how: Augmentation,
    device: torch.device,
    generator: Generator | None = None,
    size: int = 48,
) -> Tensor:
    """Draw one transformation per image, (B, 2, 3): output coordinates to input coordinates.

    A training step waits for this on a CPU, so that it is made of few operations: all six numbers
    are linear in the random ones but for the sine (a cosine is the sine a quarter turn later). The
    size of the images in pixels is for `Augmentation.crop`.
    """
    linear = _linear(how, size, device)
    draw = torch.rand(batch, 4, device=device, generator=generator)  # turn, x, y, flip
    draw[:, 3:].lt_(how.flip)
    if how.crop:
        draw[:, 1:3].mul_(2 * how.crop + 1).floor_()
    numbers = torch.addmm(linear.offset, draw, linear.factor)
    numbers = torch.where(linear.is_angle, numbers.sin(), numbers)
    return numbers.mul_(torch.addmm(linear.one, draw, linear.mirror)).view(batch, 2, 3)


class _Linear(NamedTuple):
    """How the six numbers of a transformation follow from the four random ones."""

    factor: Tensor  # (4, 6)
    offset: Tensor  # (6,)
    is_angle: Tensor  # (6,) bool
    mirror: Tensor  # (4, 6): adds -2 to the 1 that the first row is multiplied by
    one: Tensor  # (6,)


@cache
def _linear(how: Augmentation, size: int, device: torch.device) -> _Linear:
    turn = math.radians(how.rotation)
    shift = 2 * how.crop / size if how.crop else 2 * how.translation  # grid coordinates span 2
    step = 2 / size if how.crop else 2 * shift  # draws are whole pixels, or from 0 to 1
    factor, offset = torch.zeros(4, 6), torch.zeros(6)
    for column, sign, start in ((0, 1, math.pi / 2), (1, -1, 0), (3, 1, 0), (4, 1, math.pi / 2)):
        factor[0, column] = 2 * sign * turn  # from -turn to turn
        offset[column] = start - sign * turn
    for row, column in ((1, 2), (2, 5)):
        factor[row, column], offset[column] = step, -shift
    mirror = torch.zeros(4, 6)
    mirror[3, :2] = -2
    is_angle = torch.tensor([True, True, False, True, True, False])
    return _Linear(*(t.to(device) for t in (factor, offset, is_angle, mirror, torch.ones(6))))


def warp(images: Tensor, affine: Tensor, how: Augmentation) -> Tensor:
    """Apply one transformation per image to (B, C, H, W), bilinearly."""
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
    """Flip, rotate and shift each image of a batch by its own random amount; erase a part of it."""
    return augment_together((images,), how, generator)[0]


def augment_together(
    stacks: Sequence[Tensor], how: Augmentation, generator: Generator | None = None
) -> tuple[Tensor, ...]:
    """Treat several (B, C, H, W) stacks alike, such as images and their masks.

    Erased is a part of the first stack only: a region stays where it is when it is hidden.

    >>> image = torch.rand(3, 1, 8, 8)
    >>> one, other = augment_together((image, 2 * image), Augmentation())
    >>> torch.allclose(2 * one, other)
    True
    """
    first, *others = stacks
    if how.moves:
        affine = random_affine(len(first), how, first.device, generator, first.shape[-1])
        first, *others = (warp(stack, affine, how) for stack in stacks)
    if how.erase:
        first = erase(first, how.erase, generator)
    return first, *others


def erase(images: Tensor, probability: float, generator: Generator | None = None) -> Tensor:
    """Paint a random rectangle of each (C, H, W) image with the image's mean, or leave it whole.

    Its area is between 2 and 20 % of the image, its sides differ by up to a factor of 3.3.

    >>> image = torch.rand(4, 1, 48, 48)
    >>> shares = (erase(image, 1.0) != image).float().mean((1, 2, 3))
    >>> bool((shares > 0).all() and (shares < 0.25).all()), erase(image, 0.0).equal(image)
    (True, True)
    """
    batch, _, height, width = images.shape
    draw = torch.rand(5, batch, 1, device=images.device, generator=generator)
    area, ratio = ERASED[0] + (ERASED[1] - ERASED[0]) * draw[0], MOST_OBLONG ** (2 * draw[1] - 1)
    hidden = (draw[4] < probability)[:, None, :, None]
    for start, share, size, shape in (
        (draw[2], (area * ratio).sqrt(), height, (batch, 1, -1, 1)),
        (draw[3], (area / ratio).sqrt(), width, (batch, 1, 1, -1)),
    ):
        place = (torch.arange(size, device=images.device) + 0.5) / size
        low = start * (1 - share)
        hidden = hidden & ((place >= low) & (place < low + share)).view(shape)
    return torch.where(hidden, images.mean((1, 2, 3), keepdim=True), images)
