"""Background share: how much of a map's heat lies outside the face."""

import torch
from torch import Tensor

from fer_lightning.look.metrics.summary import (
    PerSampleMetric,
    check_heat,
    check_masks,
    region_sums,
    summarise_ratio,
)


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


# --- Mass ratio: the share of heat in a region over the share of the picture it covers


def mass_ratio(heat: Tensor, mask: Tensor, per_image: bool = False) -> Tensor:
    """Divide a region's share of the heat by its share of the area.

    1 is what a uniform map scores. Unlike LFR it is bounded, by one over the area share, so no
    single map can decide a mean.

    Args:
        heat: (B, H, W) finite and not negative.
        mask: As for `local_focus_ratio`.
        per_image: Read a mask of three dimensions as one per image.

    Returns:
        (B,) or, with a region axis, (B, R): float64 on the CPU, NaN for an all-zero map.

    Raises:
        UserError: As for `local_focus_ratio`.

    >>> heat = torch.tensor([[[3.0, 1.0, 0.0, 0.0]]])
    >>> mass_ratio(heat, torch.tensor([[True, False, False, False]]))  # 3/4 of heat on 1/4 of area
    tensor([3.], dtype=torch.float64)
    """
    heat = check_heat(heat)
    sums = region_sums(heat, check_masks(mask, heat, per_image))
    area_share = sums.area / sums.pixels
    return torch.from_numpy(sums.per_total(sums.inside) / area_share)


class MassRatio(PerSampleMetric):
    """`mass_ratio` over many batches; `compute` gives what `summarise_ratio` gives.

    >>> metric = MassRatio()
    >>> metric.update(torch.tensor([[[3.0, 1.0]], [[0.0, 0.0]]]), torch.tensor([[True, False]]))
    >>> result = metric.compute()
    >>> result["mean"].item(), result["mean_zeros_in"].item()
    (1.5, 0.75)
    """

    higher_is_better = True

    def update(
        self, heat: Tensor, mask: Tensor, ids: Tensor | None = None, per_image: bool = False
    ) -> None:
        """Add a batch; arguments as for `mass_ratio`, `ids` as for `PerSampleMetric.add`."""
        self.add(mass_ratio(heat, mask, per_image), ids)

    def summary(self, values: Tensor) -> dict[str, Tensor]:
        """Describe the ratios under both conventions for zero maps."""
        return summarise_ratio(values)
