"""One region's mask for each training image."""

import numpy as np
import torch
from torch import Tensor

from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.labels import FERPLUS_CLASSES
from fer_lightning.data.regions import ORDER, MaskSource, masks_for, template
from fer_lightning.data.splits import Rows
from fer_lightning.errors import UserError, nearest

AT_ONCE = 1024  # images, so that no mask of another region is kept longer than needed


def region_masks(
    data: ImageSet, rows: Rows, region: str, landmarks: MaskSource | None = None
) -> Tensor:
    """Return (N, H, W) uint8 masks, 0 or 1: exact ones where they are known, else the template's.

    The template takes no memory: all images share it.

    Raises:
        UserError: an unknown region, or a data set without faces.

    >>> from fer_lightning.data.faces import drawn_faces
    >>> masks = region_masks(drawn_faces(20), np.arange(5), "mouth")
    >>> masks.shape, masks.dtype
    (torch.Size([5, 48, 48]), torch.uint8)
    """
    if region not in ORDER:
        raise UserError(f"expected a region but got '{region}'; {nearest(region, ORDER)}")
    check_faces(data, landmarks)
    if data.masks is None and landmarks is None:
        size = (data.images.shape[2], data.images.shape[3])
        mask = torch.from_numpy(template(size)[region].astype(np.uint8))
        return mask.expand(len(rows), -1, -1)
    at = ORDER.index(region)
    parts = [
        torch.from_numpy(
            masks_for(data, rows[i : i + AT_ONCE], landmarks=landmarks)[:, at].astype(np.uint8)
        )
        for i in range(0, len(rows), AT_ONCE)
    ]
    return torch.cat(parts)


def check_faces(data: ImageSet, landmarks: MaskSource | None = None) -> None:
    """Refuse a data set whose images are no faces, as far as its classes tell.

    Raises:
        UserError: no masks of its own, no landmarks, and classes that are no expressions.
    """
    if data.masks is None and landmarks is None and not set(data.classes) <= {*FERPLUS_CLASSES}:
        raise UserError(
            f"expected a data set of faces but got {data.name} with the classes "
            f"{', '.join(data.classes[:3])}, ...; leave the attention regulariser out or give "
            "landmarks of its faces"
        )
