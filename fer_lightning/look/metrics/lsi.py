"""Local Sensitivity Index: how well a map's hot spots cover the key regions of a face."""

import cv2
import numpy as np
import torch
from torch import Tensor

from fer_lightning.errors import UserError
from fer_lightning.look.metrics.summary import (
    Masks,
    PerSampleMetric,
    check_heat,
    check_masks,
    summarise,
)

TILE = 256  # maps labelled in one call: 2.4 MB of labels at 48x48, which stay in the cache


def region_overlap(
    heat: Tensor, regions: Tensor, threshold: float = 0.5, per_image: bool = False
) -> Tensor:
    """Measure the IoU of each region with the hot spots that touch it.

    The hot spots of a map are the connected parts (8-connectivity) of all pixels with at least
    `threshold` times its maximum. Those with a pixel in region R_i form A_i; the result is
    |A_i and R_i| / |A_i or R_i|, and 0 where no hot spot touches the region.

    Args:
        heat: (B, H, W) finite and not negative.
        regions: (R, H, W), or (B, R, H, W) for regions of each image, or (H, W) for a single one;
            with `per_image`, (B, H, W) a single one of each image.
        threshold: Share of the map's maximum, above 0 and at most 1.
        per_image: Read a mask of three dimensions as one per image.

    Returns:
        (B, R), or (B,) without a region axis: float64 on the CPU, NaN for an all-zero map.

    Raises:
        UserError: As for `local_focus_ratio`, or a threshold outside (0, 1].

    >>> heat = torch.tensor([[[1.0, 1.0, 0.0, 0.6], [0.0, 0.0, 0.0, 0.1]]])
    >>> left = torch.tensor([[True, False, False, False], [True, False, False, False]])
    >>> right = torch.tensor([[False, False, False, True], [False, False, False, True]])
    >>> region_overlap(heat, torch.stack([left, right]))  # left 1 of 3 pixels, right 1 of 2
    tensor([[0.3333, 0.5000]], dtype=torch.float64)
    """
    if not 0 < threshold <= 1:
        raise UserError(
            f"expected a threshold above 0 and at most 1, but got {threshold}: "
            "it is a share of the map's maximum."
        )
    heat = check_heat(heat)
    masks = check_masks(regions, heat, per_image)
    highest = heat.amax((1, 2), keepdim=True)
    hot = heat >= threshold * highest
    tiles = [
        _count(part.numpy(), _of_images(masks, start, len(part)))
        for start, part in zip(range(0, len(hot), TILE), hot.split(TILE), strict=True)
    ]
    shared, touching = torch.from_numpy(np.concatenate(tiles, axis=1)).double()  # each (B, R)
    area = masks.pixels.sum((-2, -1))
    overlap = shared / (touching + area - shared)
    overlap = overlap.masked_fill(highest.view(-1, 1) == 0, torch.nan)
    return overlap.squeeze(1) if masks.single else overlap


def local_sensitivity_index(
    heat: Tensor, regions: Tensor, threshold: float = 0.5, per_image: bool = False
) -> Tensor:
    """Average `region_overlap` over the regions: equation 5 of "The Inductive Bias Gap".

    The paper does not say how A_i comes from a map; `region_overlap` states our reading. Pass the
    masks of eyes, eyebrows and mouth to get the index we report.

    Args:
        heat: As for `region_overlap`.
        regions: As for `region_overlap`.
        threshold: As for `region_overlap`.
        per_image: As for `region_overlap`.

    Returns:
        (B,) float64 on the CPU, NaN for an all-zero map.

    >>> halves = torch.tensor([[[True, False]], [[False, True]]])
    >>> heat = torch.tensor([[[1.0, 1.0]], [[1.0, 0.0]], [[0.0, 0.0]]])
    >>> local_sensitivity_index(heat, halves)  # (1/2 + 1/2)/2, (1 + 0)/2, no value
    tensor([0.5000, 0.5000,    nan], dtype=torch.float64)
    """
    overlap = region_overlap(heat, regions, threshold, per_image)
    return overlap.mean(1) if overlap.ndim == 2 else overlap


class LocalSensitivityIndex(PerSampleMetric):
    """`local_sensitivity_index` over many batches.

    `compute` gives what `summarise` gives and `mean_zeros_in`, where a zero map counts as 0.

    Args:
        threshold: Share of a map's maximum from which a pixel is hot.

    >>> metric = LocalSensitivityIndex()
    >>> metric.update(torch.tensor([[[1.0, 0.0]], [[0.0, 0.0]]]), torch.tensor([[True, False]]))
    >>> result = metric.compute()
    >>> result["mean"].item(), result["mean_zeros_in"].item(), result["zero_maps"].item()
    (1.0, 0.5, 1)
    """

    higher_is_better = True

    def __init__(self, threshold: float = 0.5) -> None:
        super().__init__()
        self.threshold = threshold

    def update(
        self, heat: Tensor, regions: Tensor, ids: Tensor | None = None, per_image: bool = False
    ) -> None:
        """Add a batch; arguments as for `region_overlap`, `ids` as for `PerSampleMetric.add`."""
        self.add(local_sensitivity_index(heat, regions, self.threshold, per_image), ids)

    def summary(self, values: Tensor) -> dict[str, Tensor]:
        """Describe the indices under both conventions for zero maps."""
        return summarise(values) | {"mean_zeros_in": values.nan_to_num(0.0).mean(0)}


def _of_images(masks: Masks, start: int, count: int) -> np.ndarray:
    """Return the masks of some images, (count or 1, R, H, W)."""
    pixels = masks.pixels
    return (pixels if len(pixels) == 1 else pixels[start : start + count]).numpy()


def _count(hot: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """Count hot pixels: (B, H, W) maps and (B or 1, R, H, W) regions → (2, B, R).

    First those in each region, then those of all connected parts that touch it. Every hot pixel in
    a region belongs to a part that touches it, so the first number is their intersection.

    All maps are labelled in one call, stacked into one tall picture with a blank row between them.
    """
    B, H, W = hot.shape
    picture = np.zeros((B, H + 1, W), dtype=np.uint8)
    picture[:, :H] = hot
    count, labels = cv2.connectedComponents(
        picture.reshape(-1, W), connectivity=8, ltype=cv2.CV_32S
    )
    size = np.bincount(labels[labels > 0], minlength=count)  # of each part; label 0 is what is cold
    labels = labels.reshape(B, H + 1, W)[:, :H]

    R = regions.shape[1]
    result = np.empty((2, B, R))
    image = np.zeros(count, dtype=np.intp)  # to which each touched part belongs
    for r in range(R):
        if len(regions) == 1:
            inside = labels[:, regions[0, r]]  # (B, pixels of the region)
            owner = np.arange(B)[:, None]
            result[0, :, r] = np.count_nonzero(inside, axis=1)
        else:
            inside = labels[regions[:, r]]  # (pixels of all images' regions,)
            owner = np.nonzero(regions[:, r])[0]
            result[0, :, r] = np.bincount(owner[inside > 0], minlength=B)
        touched = np.zeros(count, dtype=bool)
        touched[inside] = True
        image[inside] = owner
        result[1, :, r] = np.bincount(image[touched], weights=size[touched], minlength=B)
    return result
