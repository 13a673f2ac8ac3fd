"""Pointing game: does the hottest point of a map lie in a region?"""

import torch
from torch import Tensor
from torch.nn.functional import conv2d

from fer_lightning.errors import UserError
from fer_lightning.look.metrics.summary import (
    Masks,
    PerSampleMetric,
    check_heat,
    check_masks,
    region_sums,
)


def pointing_game(
    heat: Tensor, mask: Tensor, tolerance: int = 0, per_image: bool = False
) -> Tensor:
    """Score 1 where a map's maximum lies in the mask, 0 where it does not.

    Where several pixels share the maximum, the score is the share of them that lie in the mask:
    what breaking the tie at random gives on average, with no preference for the top left corner.

    Args:
        heat: (B, H, W) finite and not negative.
        mask: As for `local_focus_ratio`.
        tolerance: A maximum at most this many pixels away from the mask is a hit, too.
        per_image: Read a mask of three dimensions as one per image.

    Returns:
        (B,) or, with a region axis, (B, R): float64 on the CPU, NaN for an all-zero map.

    Raises:
        UserError: As for `local_focus_ratio`, or a negative tolerance.

    >>> heat = torch.tensor([[[2.0, 1.0, 1.0]], [[0.0, 1.0, 1.0]]])
    >>> mask = torch.tensor([[True, True, False]])
    >>> pointing_game(heat, mask).tolist()  # the second map's maximum is half in, half out
    [1.0, 0.5]
    >>> pointing_game(heat, mask, tolerance=1).tolist()
    [1.0, 1.0]
    """
    if tolerance < 0:
        raise UserError(f"expected a tolerance of 0 or more pixels, but got {tolerance}: raise it.")
    heat = check_heat(heat)
    masks = check_masks(mask, heat, per_image)
    if tolerance > 0:
        masks = Masks(_grown(masks.pixels, tolerance), masks.single)
    hottest = (heat == heat.amax((1, 2), keepdim=True)) & (heat > 0)
    sums = region_sums(hottest.float(), masks)
    return torch.from_numpy(sums.per_total(sums.inside))


class PointingGame(PerSampleMetric):
    """`pointing_game` over many batches; `compute` gives what `summarise` gives.

    Args:
        tolerance: A maximum at most this many pixels away from the mask is a hit, too.

    >>> metric = PointingGame()
    >>> metric.update(torch.tensor([[[2.0, 1.0]], [[1.0, 2.0]]]), torch.tensor([[True, False]]))
    >>> metric.compute()["mean"].item()
    0.5
    """

    higher_is_better = True

    def __init__(self, tolerance: int = 0) -> None:
        super().__init__()
        self.tolerance = tolerance

    def update(
        self, heat: Tensor, mask: Tensor, ids: Tensor | None = None, per_image: bool = False
    ) -> None:
        """Add a batch; arguments as for `pointing_game`, `ids` as for `PerSampleMetric.add`."""
        self.add(pointing_game(heat, mask, self.tolerance, per_image), ids)


def _grown(pixels: Tensor, radius: int) -> Tensor:
    """Add to masks, (N, R, H, W), all pixels within a Euclidean distance of them."""
    offset = torch.arange(-radius, radius + 1)
    disk = (offset**2 + offset[:, None] ** 2 <= radius**2).float()
    reached = conv2d(pixels.flatten(0, 1).unsqueeze(1).float(), disk[None, None], padding=radius)
    return (reached > 0.5).view_as(pixels)
