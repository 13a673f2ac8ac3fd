"""Local Focus Ratio: mean heat inside a region over mean heat outside it."""

import numpy as np
import torch
from torch import Tensor

from fer_lightning.look.metrics.summary import (
    LOG_FLOOR,
    PerSampleMetric,
    check_heat,
    check_masks,
    region_sums,
    summarise_ratio,
)

EPSILON = 1e-8


def local_focus_ratio(heat: Tensor, mask: Tensor, per_image: bool = False) -> Tensor:
    """Divide the mean heat inside a mask by the mean heat outside it plus 1e-8.

    This is equation 4 of "The Inductive Bias Gap". "Outside" is the complement of that same mask.
    Because of the constant 1e-8, maps should be divided by their maximum first (not min-max
    normalised, which would hide a pedestal); a uniform map then scores 0.99999999, and one
    without any heat outside up to 1e8.

    Args:
        heat: (B, H, W) finite and not negative.
        mask: (H, W) one region; (R, H, W) several; (B, R, H, W) those of each image; with
            `per_image`, (B, H, W) one region of each image.
        per_image: Read a mask of three dimensions as one per image.

    Returns:
        (B,) or, with a region axis, (B, R): float64 on the CPU, NaN for an all-zero map.

    Raises:
        UserError: NaN or negative heat; a mask of the wrong size, not binary, empty or full.

    >>> heat = torch.tensor([[[4.0, 2.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])
    >>> top = torch.tensor([[True, True], [False, False]])
    >>> local_focus_ratio(heat, top)  # (4 + 2)/2 over (1 + 0)/2; a zero map has no value
    tensor([6.0000,    nan], dtype=torch.float64)
    >>> local_focus_ratio(heat[:1], torch.stack([top, ~top]))  # one column a region
    tensor([[6.0000, 0.1667]], dtype=torch.float64)
    """
    heat = check_heat(heat)
    sums = region_sums(heat, check_masks(mask, heat, per_image))
    mean_inside = sums.inside / sums.area
    mean_outside = sums.outside / (sums.pixels - sums.area)
    ratio = mean_inside / (mean_outside + EPSILON)
    ratio[sums.inside + sums.outside == 0] = np.nan
    return torch.from_numpy(ratio)


class LocalFocusRatio(PerSampleMetric):
    """`local_focus_ratio` over many batches; `compute` gives what `summarise_ratio` gives.

    Args:
        log_floor: Smaller ratios count as this one in the mean logarithm.

    >>> metric = LocalFocusRatio()
    >>> mask = torch.tensor([[True, False]])
    >>> metric.update(torch.tensor([[[3.0, 1.0]], [[1.0, 2.0]]]), mask, ids=torch.tensor([7, 2]))
    >>> metric.update(torch.tensor([[[0.0, 0.0]]]), mask, ids=torch.tensor([5]))
    >>> result = metric.compute()
    >>> result["ids"].tolist(), [round(value, 4) for value in result["values"].tolist()]
    ([2, 5, 7], [0.5, nan, 3.0])
    >>> round(result["mean"].item(), 4), round(result["share_ge_1_zeros_in"].item(), 4)
    (1.75, 0.3333)
    """

    higher_is_better = True

    def __init__(self, log_floor: float = LOG_FLOOR) -> None:
        super().__init__()
        self.log_floor = log_floor

    def update(
        self, heat: Tensor, mask: Tensor, ids: Tensor | None = None, per_image: bool = False
    ) -> None:
        """Add a batch; arguments as for `local_focus_ratio`, `ids` as for `PerSampleMetric.add`."""
        self.add(local_focus_ratio(heat, mask, per_image), ids)

    def summary(self, values: Tensor) -> dict[str, Tensor]:
        """Describe the ratios under both conventions for zero maps."""
        return summarise_ratio(values, self.log_floor)
