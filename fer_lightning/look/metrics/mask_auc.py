"""Mask AUC: how well heat ranks the pixels of a region above all others."""

import numpy as np
import torch
from torch import Tensor

from fer_lightning.look.metrics.summary import PerSampleMetric, check_heat, check_masks, region_sums

CHUNK = 1024  # maps ranked at a time: a few arrays of 19 MB at 48x48


def mask_auc(heat: Tensor, mask: Tensor, per_image: bool = False) -> Tensor:
    """Compute the area under the ROC curve of heat as a score for lying in the mask.

    It is the probability that a pixel in the mask is hotter than one outside, ties counting half;
    0.5 is chance. It depends on the order of the heat only, not on its scale or tails.

    Args:
        heat: (B, H, W) finite and not negative.
        mask: As for `local_focus_ratio`.
        per_image: Read a mask of three dimensions as one per image.

    Returns:
        (B,) or, with a region axis, (B, R): float64 on the CPU, NaN for an all-zero map.

    Raises:
        UserError: As for `local_focus_ratio`.

    >>> heat = torch.tensor([[[3.0, 1.0, 1.0, 0.0]]])
    >>> mask_auc(heat, torch.tensor([[True, True, False, False]]))  # of 4 pairs: 3 won, 1 tie
    tensor([0.8750], dtype=torch.float64)
    """
    heat = check_heat(heat)
    masks = check_masks(mask, heat, per_image)
    ranks = torch.cat([_mean_ranks(part.flatten(1)) for part in heat.split(CHUNK)]).view_as(heat)
    sums = region_sums(ranks, masks)
    lowest_possible = sums.area * (sums.area + 1) / 2
    pairs = sums.area * (sums.pixels - sums.area)
    auc = (sums.inside - lowest_possible) / pairs
    auc[(heat.amax((1, 2)) == 0).numpy()] = np.nan
    return torch.from_numpy(auc)


class MaskAUC(PerSampleMetric):
    """`mask_auc` over many batches; `compute` gives what `summarise` gives.

    >>> metric = MaskAUC()
    >>> metric.update(torch.tensor([[[2.0, 1.0]], [[1.0, 1.0]]]), torch.tensor([[True, False]]))
    >>> metric.compute()["mean"].item()  # of 1 and 1/2
    0.75
    """

    higher_is_better = True

    def update(
        self, heat: Tensor, mask: Tensor, ids: Tensor | None = None, per_image: bool = False
    ) -> None:
        """Add a batch; arguments as for `mask_auc`, `ids` as for `PerSampleMetric.add`."""
        self.add(mask_auc(heat, mask, per_image), ids)


def _mean_ranks(scores: Tensor) -> Tensor:
    """Rank each row from 1, tied values sharing the mean of their ranks: (B, P) → (B, P) float64.

    >>> _mean_ranks(torch.tensor([[5.0, 1.0, 5.0]])).tolist()
    [[2.5, 1.0, 2.5]]
    """
    ordered = scores.sort(dim=1).values
    below = torch.searchsorted(ordered, scores)
    not_above = torch.searchsorted(ordered, scores, right=True)
    return (below + not_above + 1).double() / 2
