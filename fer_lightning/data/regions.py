"""The regions of a face as masks: a fixed template, or exact masks of each image."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import ImageSet
from fer_lightning.errors import UserError

# --- Outlines of face regions, and the pixels they cover


@dataclass(frozen=True)
class Outline:
    """A polygon or an open line in pixel coordinates: x to the right, y down.

    Args:
        points: (P, 2) x and y; pixel k covers k to k + 1.
        closed: whether the inside belongs to it.
        grow: pixels within this distance of the line belong to it too.
    """

    points: NDArray[np.float64]
    closed: bool = True
    grow: float = 0.0

    def scaled(self, x: float, y: float) -> "Outline":
        """Stretch by factors in x and y, for another image size."""
        return Outline(self.points * [x, y], self.closed, self.grow * (x * y) ** 0.5)


def rasterise(outlines: list[Outline], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Find the pixels whose centres lie in any of the outlines.

    Args:
        outlines: outlines in pixels of the image.
        size: height and width of the image.

    Returns:
        (H, W) mask.

    >>> square = Outline(np.array([[1.0, 1.0], [3.0, 1.0], [3.0, 3.0], [1.0, 3.0]]))
    >>> rasterise([square], (4, 4)).astype(int).tolist()
    [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    """
    mask = np.zeros(size, bool)
    for outline in outlines:
        mask |= _covered(outline, size)
    return mask


def _covered(outline: Outline, size: tuple[int, int]) -> NDArray[np.bool_]:
    """Even-odd rule for the inside, distance to the nearest edge for the margin."""
    y = (np.arange(size[0]) + 0.5)[:, None]
    x = (np.arange(size[1]) + 0.5)[None]
    inside = np.zeros(size, bool)
    near = np.full(size, np.inf)
    starts = outline.points
    ends = np.roll(starts, -1, axis=0)
    if not outline.closed:
        starts, ends = starts[:-1], ends[:-1]
    for (x0, y0), (x1, y1) in zip(starts, ends, strict=True):
        dx, dy = x1 - x0, y1 - y0
        if dy != 0:
            inside ^= ((y0 > y) != (y1 > y)) & (x < x0 + (y - y0) / dy * dx)
        if outline.grow > 0:
            length = dx * dx + dy * dy
            along = np.clip(((x - x0) * dx + (y - y0) * dy) / length, 0, 1) if length else 0.0
            near = np.minimum(near, (x - x0 - along * dx) ** 2 + (y - y0 - along * dy) ** 2)
    grown = near <= outline.grow**2
    return (inside & outline.closed) | grown


Masks = NDArray[np.bool_]
REGIONS = ("eyes", "eyebrow", "nose", "mouth")
KEY = ("eyes", "eyebrow", "mouth")
ALL = (*KEY, "nose")
ORDER = (*REGIONS, "key", "all", "face")  # the second axis of all masks given to metrics
BASE = (*REGIONS, "face")  # what has an outline of its own


class MaskSource(Protocol):
    """Where masks of single images come from; `landmarks.Landmarks` is one."""

    def masks(self, key: str, size: tuple[int, int]) -> dict[str, Masks] | None:
        """Masks (H, W) of the image with this `image_key`, by region, or None if unknown."""


def template(image_size: int | tuple[int, int] = 48) -> dict[str, Masks]:
    """The fixed masks on the mean face of FER-2013, scaled to an image size.

    Args:
        image_size: height and width in pixels, or one number for both.

    Returns:
        Name in ORDER → (H, W) mask.

    Raises:
        UserError: an image so small that a region has no pixel.

    >>> masks = template(48)
    >>> [name for name, mask in masks.items() if mask[19, 15]]  # a pixel of the left eye
    ['eyes', 'key', 'all', 'face']
    """
    size = (image_size, image_size) if isinstance(image_size, int) else image_size
    return dict(zip(ORDER, _template(size), strict=True))


@lru_cache(maxsize=8)
def _template(size: tuple[int, int]) -> Masks:
    """(7, H, W) in ORDER."""
    path = resources.files("fer_lightning.data") / "region_template.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    x, y = size[1] / data["image_size"], size[0] / data["image_size"]
    masks = {
        name: rasterise([Outline(np.array(p)).scaled(x, y) for p in polygons], size)
        for name, polygons in data["regions"].items()
    }
    stacked = stack(masks)
    refuse_empty(stacked[None], [f"the template at {size[0]}x{size[1]}"])
    stacked.flags.writeable = False
    return stacked


def stack(masks: dict[str, Masks]) -> Masks:
    """Put masks of the five BASE regions, (..., H, W) each, in ORDER: (..., 7, H, W)."""
    key = np.logical_or.reduce([masks[name] for name in KEY])
    parts = [*(masks[name] for name in REGIONS), key, key | masks["nose"], masks["face"]]
    return np.stack(parts, axis=-3)


def image_key(image: NDArray[np.uint8]) -> str:
    """The name of an image in a landmark file: SHA-256 of its uint8 bytes, (C, H, W), in hex."""
    return hashlib.sha256(np.ascontiguousarray(image).data).hexdigest()


def masks_for(
    image_set: ImageSet,
    index: NDArray[np.int64] | Sequence[int],
    kind: Literal["template", "exact", "auto"] = "auto",
    landmarks: MaskSource | None = None,
) -> Masks:
    """Masks of the given images.

    Args:
        image_set: the data set, with exact masks of its own or without.
        index: B rows of it.
        kind: "template" takes the fixed masks for every image; "exact" the data set's own masks
            or those of the landmarks; "auto" exact ones where there are any, else the template.
        landmarks: per-image outlines, see `landmarks.read_landmarks`.

    Returns:
        (B, 7, H, W) in ORDER: eyes, eyebrow, nose, mouth, key, all, face.

    Raises:
        UserError: exact masks are missing, of another size than the images, or empty.

    >>> from fer_lightning.data.faces import drawn_faces
    >>> masks_for(drawn_faces(7), [0, 3]).shape
    (2, 7, 48, 48)
    """
    rows = np.asarray(index, np.int64)
    size = (image_set.images.shape[2], image_set.images.shape[3])
    result = np.repeat(_template(size)[None], len(rows), axis=0)
    if kind == "template":
        return result
    if image_set.masks is not None:
        result = stack(_own_masks(image_set, rows, size))
    elif landmarks is not None:
        for k, row in enumerate(rows):
            known = landmarks.masks(image_key(image_set.images[row]), size)
            if known is not None:
                result[k] = stack(known)
            elif kind == "exact":
                raise UserError(
                    f"expected landmarks of every image but got none of {image_set.files[row]}; "
                    "add it to the landmark file or use masks of kind 'auto'"
                )
    elif kind == "exact":
        raise UserError(
            f"expected exact region masks but got {image_set.name} without any; "
            "give a landmark file or use masks of kind 'template'"
        )
    refuse_empty(result, [str(image_set.files[row]) for row in rows])
    return result


def _own_masks(
    image_set: ImageSet, rows: NDArray[np.int64], size: tuple[int, int]
) -> dict[str, Masks]:
    assert image_set.masks is not None
    if image_set.masks.shape[2:] != size:
        height, width = image_set.masks.shape[2:]
        raise UserError(
            f"expected masks of {size[0]}x{size[1]} pixels like the images of {image_set.name} "
            f"but got {height}x{width}; make the masks at the images' size"
        )
    missing = [name for name in BASE if name not in image_set.mask_regions]
    if missing:
        raise UserError(
            f"expected masks of {', '.join(BASE)} but got none of {', '.join(missing)}; "
            "add them or use masks of kind 'template'"
        )
    return {name: image_set.masks[rows, image_set.mask_regions.index(name)] for name in BASE}


def refuse_empty(masks: Masks, names: Sequence[str]) -> None:
    """Raise a UserError that names the first region without a pixel in (B, 7, H, W)."""
    empty = np.argwhere(~masks.any(axis=(2, 3)))
    if len(empty):
        image, region = empty[0]
        raise UserError(
            f"expected a region with pixels but got an empty {ORDER[region]} mask "
            f"for {names[image]}; leave that image out or mend its outline"
        )
