"""Background share: how much of a map's heat lies outside the face."""

import torch
from torch import Tensor

from fer_lightning.metrics.maps import check_heat, check_masks, region_sums
from fer_lightning.metrics.per_sample import PerSampleMetric


def background_share(heat: Tensor, face: Tensor, per_image: bool = False) -> Tensor:
    """Compute the share of heat or attention outside the face oval, from 0 to 1.

    Args:
        heat: (B, H, W) finite and not negative.
        face: (H, W), or (B, H, W) with `per_image`: the face oval; more forms as in
            `local_focus_ratio`.
        per_image: Read a mask of three dimensions as one per image.

    Returns:
        (B,) or, with a region axis, (B, R): float64 on the CPU, NaN for an all-zero map.

    Raises:
        UserError: As for `local_focus_ratio`.

    >>> heat = torch.tensor([[[3.0, 1.0]], [[0.0, 0.0]]])
    >>> background_share(heat, torch.tensor([[True, False]]))
    tensor([0.2500,    nan], dtype=torch.float64)
    """
    heat = check_heat(heat)
    sums = region_sums(heat, check_masks(face, heat, per_image))
    return torch.from_numpy(sums.per_total(sums.outside))


class BackgroundShare(PerSampleMetric):
    """`background_share` over many batches; `compute` gives what `summarise` gives.

    >>> metric = BackgroundShare()
    >>> metric.update(torch.tensor([[[3.0, 1.0]], [[1.0, 1.0]]]), torch.tensor([[True, False]]))
    >>> metric.compute()["mean"].item()
    0.375
    """

    higher_is_better = False

    def update(
        self, heat: Tensor, face: Tensor, ids: Tensor | None = None, per_image: bool = False
    ) -> None:
        """Add a batch; arguments as for `background_share`, `ids` as for `PerSampleMetric.add`."""
        self.add(background_share(heat, face, per_image), ids)
