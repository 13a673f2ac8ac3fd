"""From signed maps to heat that can be shown, compared and measured."""

import torch
from torch import Tensor
from torch.nn import functional as F

from fer_lightning.errors import UserError


def to_heat(signed: Tensor, size: int | tuple[int, int]) -> Tensor:
    """Keep positive evidence, scale it up to the image and divide it by its own maximum.

    The maximum, and never minimum and maximum: the latter would turn an even pedestal into none
    and so change how focused a map looks.

    Args:
        signed: (N, h, w), as `grad_cam` gives; maps without negative values stay as they are.
        size: side, or height and width, of the result in pixels.

    Returns:
        (N, H, W) float32 from 0 to 1. A map with nothing positive is zero: see `is_zero`.

    Raises:
        UserError: another shape, or NaN or infinity in a map.

    >>> to_heat(torch.tensor([[[2.0, -2.0]], [[-1.0, -3.0]]]), (1, 4))
    tensor([[[1.0000, 0.7500, 0.2500, 0.0000]],
    <BLANKLINE>
            [[0.0000, 0.0000, 0.0000, 0.0000]]])
    """
    check_maps(signed)
    H, W = (size, size) if isinstance(size, int) else size
    if H < 1 or W < 1:
        raise UserError(f"expected a size of at least 1x1 pixels but got {H}x{W}")
    heat = signed.float().relu()
    if heat.shape[1:] != (H, W):
        heat = F.interpolate(heat[:, None], (H, W), mode="bilinear", align_corners=False)[:, 0]
    highest = heat.amax((1, 2), keepdim=True)
    return heat / highest.where(highest > 0, 1)


def is_zero(heat: Tensor) -> Tensor:
    """Tell which maps hold no positive value, (N,): count and report these, never average them in.

    >>> is_zero(torch.tensor([[[0.0, 0.1]], [[0.0, 0.0]], [[-1.0, 0.0]]]))
    tensor([False,  True,  True])
    """
    return heat.flatten(1).amax(1) <= 0


def match_resolution(maps: Tensor, grid: int | tuple[int, int] = 6) -> Tensor:
    """Average maps over the cells of another grid, so that models are compared at one resolution.

    Each cell gets the mean over its area, also where borders cut through the old cells, so the
    mean of a map stays. For focus numbers: ReLU first, then this, then `to_heat`.

    Args:
        maps: (N, h, w), finite.
        grid: rows and columns of the result, or one number for both.

    Returns:
        (N, rows, columns) float32.

    >>> match_resolution(torch.tensor([[[0.0, 3.0, 6.0]]]), (1, 2))  # cells of 1.5 places
    tensor([[[1., 5.]]])
    """
    check_maps(maps)
    rows, columns = (grid, grid) if isinstance(grid, int) else grid
    if rows < 1 or columns < 1:
        raise UserError(f"expected a grid of at least 1x1 cells but got {rows}x{columns}")
    maps = maps.float()
    down = _shares(maps.shape[1], rows).to(maps.device)
    across = _shares(maps.shape[2], columns).to(maps.device)
    return down @ maps @ across.T


def check_maps(maps: Tensor) -> None:
    """Refuse anything but a stack of finite maps.

    Raises:
        UserError: another shape, or NaN or infinity in a map.
    """
    if maps.ndim != 3 or maps.numel() == 0:
        raise UserError(
            f"expected maps of shape (N, h, w) but got {tuple(maps.shape)}; stack one per image"
        )
    finite = maps.isfinite().flatten(1).all(1)
    if not finite.all():
        bad = (~finite).nonzero().flatten().tolist()
        raise UserError(
            f"expected finite maps but got NaN or infinity in {len(bad)} of {len(maps)}, first in "
            f"map {bad[0]}; look for NaN in the images and in the model's weights"
        )


def _shares(old: int, new: int) -> Tensor:
    """Return by which share each old cell counts in each new one, (new, old); rows sum to 1.

    >>> _shares(3, 2)
    tensor([[0.6667, 0.3333, 0.0000],
            [0.0000, 0.3333, 0.6667]])
    """
    ends = torch.arange(1, new + 1, dtype=torch.float64)[:, None] * old / new
    starts = ends - old / new
    cells = torch.arange(old, dtype=torch.float64)
    overlap = torch.minimum(ends, cells + 1) - torch.maximum(starts, cells)
    return (overlap.clamp(min=0) * new / old).float()


# --- One resolution for all maps: LFR grows with the fineness of a map's grid


GRID = 6  # the coarsest of the core experiment's models: a pooled CNN at 48x48


def match(heat: Tensor, grid: int = GRID) -> Tensor:
    """Average maps over the cells of a coarse grid and scale them up again.

    Models are only comparable at one grid: their own differ (24x24 for a CNN, 8x8 for a ViT), and
    LFR of even a perfect map rises with them. A map that is coarser already stays nearly the same.

    Args:
        heat: (N, H, W) not negative.
        grid: cells along each side.

    Returns:
        (N, H, W) divided by its maximum; zero maps stay zero.

    >>> import torch
    >>> pixel = torch.zeros(1, 4, 4)
    >>> pixel[0, 0, 0] = 1
    >>> match(pixel, grid=2)[0, 0].tolist()  # one hot cell of two, interpolated between centres
    [1.0, 0.75, 0.25, 0.0]
    """
    return to_heat(match_resolution(heat, grid), (heat.shape[1], heat.shape[2]))
