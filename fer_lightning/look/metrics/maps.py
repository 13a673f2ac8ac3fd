"""What all focus metrics share: checked heat maps, checked masks, heat inside and outside them."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fer_lightning.errors import UserError


class Masks(NamedTuple):
    """Checked masks: `pixels` is (B or 1, R, H, W) bool; `single` drops R from the result."""

    pixels: Tensor
    single: bool


class RegionSums(NamedTuple):
    """Heat `inside` and `outside` each mask, (B,) or (B, R) float64, and its `area` in pixels.

    Arrays, not tensors: with few cores, torch's threads would wait for each other here for longer
    than the sums took.
    """

    inside: np.ndarray
    outside: np.ndarray
    area: np.ndarray
    pixels: int

    def per_total(self, part: np.ndarray) -> np.ndarray:
        """Divide by all heat of the map; an all-zero map gives NaN."""
        total = self.inside + self.outside
        return np.divide(part, total, out=np.full_like(total, np.nan), where=total > 0)


def check_heat(heat: Tensor) -> Tensor:
    """Refuse anything but a stack of finite, non-negative maps, and bring it to the CPU as floats.

    The metrics work on the CPU, where no setting for fast matrix products can make them coarse.

    >>> check_heat(torch.ones(2, 3, 3, dtype=torch.uint8)).dtype
    torch.float32
    """
    if heat.ndim != 3 or heat.numel() == 0:
        raise UserError(
            f"expected heat maps of shape (B, H, W), but got {tuple(heat.shape)}: "
            "pass a stack with one map per image."
        )
    heat = heat.detach().cpu()
    if heat.dtype not in (torch.float32, torch.float64):
        heat = heat.float()
    if not _is_heat(heat.numpy()):
        lowest, highest = torch.aminmax(heat)  # both are NaN if any value is
        raise UserError(
            f"expected finite heat that is not negative, but got values from {lowest.item():.3g} "
            f"to {highest.item():.3g}: apply ReLU to signed maps and look for NaN in the model."
        )
    return heat


def _is_heat(values: np.ndarray) -> bool:
    """Tell whether all values are finite and not negative, in one pass where possible.

    Read as unsigned integers, NaN, infinity and all negative floats lie above the finite ones; of
    these -0.0 is heat after all, so only a second look decides.

    >>> [_is_heat(np.array([1.0, value])) for value in (0.0, -0.0, -1.0, np.inf, np.nan)]
    [True, True, False, False, False]
    """
    integers = values.view(np.uint32 if values.dtype == np.float32 else np.uint64)
    infinity = np.array(np.inf, values.dtype).view(integers.dtype)
    return bool(integers.max() < infinity or (values.min() >= 0 and values.max() < np.inf))


def check_masks(mask: Tensor, heat: Tensor, per_image: bool = False) -> Masks:
    """Refuse a mask of another size, one that is not binary, and one that is empty or full.

    Args:
        mask: (H, W) one region; (R, H, W) regions shared by all images, or (B, H, W) one region
            each when `per_image` is set; (B, R, H, W) regions of each image.
        heat: (B, H, W) the maps it belongs to.
        per_image: How to read three dimensions. It is never guessed from the sizes: a last batch
            of R images would be read wrongly.

    >>> check_masks(torch.eye(3).bool(), torch.ones(5, 3, 3)).pixels.shape
    torch.Size([1, 1, 3, 3])
    """
    B, H, W = heat.shape
    single = mask.ndim == 2 or (mask.ndim == 3 and per_image)
    pixels = mask.detach().cpu()
    if single:
        pixels = pixels.unsqueeze(-3)  # an axis R of length one
    if pixels.ndim == 3:
        pixels = pixels.unsqueeze(0)
    if pixels.ndim != 4 or pixels.shape[-2:] != (H, W) or pixels.shape[0] not in (1, B):
        raise UserError(
            f"expected a mask of the maps' size {H}x{W} as (H, W), (R, H, W) or ({B}, R, H, W), or "
            f"({B}, H, W) with per_image=True, but got {tuple(mask.shape)}: scale the mask first."
        )
    if pixels.dtype != torch.bool:
        if not ((pixels == 0) | (pixels == 1)).all():
            raise UserError("expected a mask of 0 and 1, but got other values: threshold it first.")
        pixels = pixels.bool()
    # NumPy counts bools 15 times as fast as torch adds them
    area = torch.from_numpy(np.count_nonzero(pixels.cpu().numpy(), axis=(-2, -1)))  # (B or 1, R)
    useless = (area == 0) | (area == H * W)
    if useless.any() or area.numel() == 0:
        image, region = useless.nonzero()[0].tolist() if area.numel() else (0, 0)
        state = "an empty" if area.numel() == 0 or area[image, region] == 0 else "a full"
        raise UserError(
            f"expected masks with pixels inside and outside, but got {state} one (mask {image}, "
            f"region {region}): leave out images whose region is not visible."
        )
    return Masks(pixels, single)


def region_sums(heat: Tensor, masks: Masks) -> RegionSums:
    """Add up the heat inside and outside each mask.

    "Outside" is summed over its own pixels, never as total minus inside: where it holds no heat at
    all, it is exactly zero. Sums over masks shared by all images keep the precision of the maps
    (float32: about 1e-6 of the value), those over masks of each image are made in float64.

    >>> heat = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    >>> sums = region_sums(heat, check_masks(torch.tensor([[1, 0], [0, 0]]), heat))
    >>> sums.inside.tolist(), sums.outside.tolist(), sums.area.tolist(), sums.pixels
    ([1.0], [9.0], [1.0], 4)
    """
    flat = heat.flatten(1).numpy()  # (B, P)
    inside_of = masks.pixels.flatten(2).numpy()  # (B or 1, R, P)
    both = np.concatenate([inside_of, ~inside_of], axis=1)  # (B or 1, 2R, P)
    if len(both) < len(flat):  # shared by all images
        weights = both[0].astype(flat.dtype)
        if len(weights) == 2:  # two matrix-vector products take half the time of one thin product
            sums = np.stack([flat @ row for row in weights], axis=1)
        else:
            sums = flat @ weights.T
    else:
        # Buffered by numpy: no copy of all masks as floats, which would be gigabytes.
        sums = np.einsum("bp,brp->br", flat, both, dtype=np.float64)
    inside, outside = np.split(sums.astype(np.float64), 2, axis=1)
    area = inside_of.sum(-1, dtype=np.float64)
    if masks.single:
        inside, outside, area = inside[:, 0], outside[:, 0], area[:, 0]
    return RegionSums(inside, outside, area, flat.shape[1])
