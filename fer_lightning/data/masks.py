"""Masks of a data set's regions: exact ones, from landmarks, from label maps, or the template."""

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.regions import FACE, Masks, Outline, Regions, rasterise
from fer_lightning.errors import UserError, nearest

Kind = Literal["template", "exact", "auto"]
AT_ONCE = 1024  # images, so that no mask of another region is kept longer than needed


class MaskSource(Protocol):
    """Where masks of single images come from; `landmarks.Landmarks` is one."""

    def masks(self, keys: Sequence[str], size: tuple[int, int]) -> tuple[Masks, Masks]:
        """Masks (B, R, H, W) of images by `image_key`, and (B,): for which of them it has any."""


class Found(NamedTuple):
    """Masks of B images.

    Args:
        masks: (B, R, H, W) in the order of the data set's regions.
        regions_from: where those of each image come from: "exact" (as it was drawn), "label maps",
            "landmarks" or "template".
    """

    masks: Masks
    regions_from: tuple[str, ...]


def template(image_size: int | tuple[int, int] = 48) -> dict[str, Masks]:
    """The fixed masks on the mean face of FER-2013, scaled to an image size.

    Args:
        image_size: height and width in pixels, or one number for both.

    Returns:
        Name in ``FACE.order`` → (H, W) mask.

    Raises:
        UserError: an image so small that a region has no pixel.

    >>> masks = template(48)
    >>> [name for name, mask in masks.items() if mask[19, 15]]  # a pixel of the left eye
    ['eyes', 'key', 'all', 'face']
    """
    size = (image_size, image_size) if isinstance(image_size, int) else image_size
    return dict(zip(FACE.order, _template(size), strict=True))


@lru_cache(maxsize=8)
def _template(size: tuple[int, int]) -> Masks:
    """(7, H, W) in the order of FACE."""
    path = resources.files("fer_lightning.data") / "region_template.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    x, y = size[1] / data["image_size"], size[0] / data["image_size"]
    masks = {
        name: rasterise([Outline(np.array(p)).scaled(x, y) for p in polygons], size)
        for name, polygons in data["regions"].items()
    }
    stacked = FACE.stack(masks)
    refuse_empty(stacked[None], [f"the template at {size[0]}x{size[1]}"], FACE)
    stacked.flags.writeable = False
    return stacked


def image_key(image: NDArray[np.uint8]) -> str:
    """The name of an image in a landmark file: SHA-256 of its uint8 bytes, (C, H, W), in hex."""
    return hashlib.sha256(np.ascontiguousarray(image).data).hexdigest()


def regions_of(image_set: ImageSet) -> Regions:
    """The regions of a data set.

    Raises:
        UserError: it has none.

    >>> from fer_lightning.data.faces import drawn_faces
    >>> regions_of(drawn_faces(7)).subject
    'face'
    """
    if image_set.regions is None:
        raise UserError(
            f"expected a data set with regions but {image_set.name} has none: its classes "
            f"({', '.join(image_set.classes[:3])}, ...) are no expressions, so the regions of a "
            "face do not fit; give --data.masks and --data.regions, or leave this out"
        )
    return image_set.regions


def masks_for(
    image_set: ImageSet,
    index: NDArray[np.int64] | Sequence[int],
    kind: Kind = "auto",
    landmarks: MaskSource | None = None,
) -> Masks:
    """Masks of the given images, (B, R, H, W), as `find_masks` finds them.

    >>> from fer_lightning.data.faces import drawn_faces
    >>> masks_for(drawn_faces(7), [0, 3]).shape
    (2, 7, 48, 48)
    """
    return find_masks(image_set, index, kind, landmarks).masks


def find_masks(
    image_set: ImageSet,
    index: NDArray[np.int64] | Sequence[int],
    kind: Kind = "auto",
    landmarks: MaskSource | None = None,
) -> Found:
    """Find the masks of the given images, and where they come from.

    Args:
        image_set: the data set, with exact masks of its own or without.
        index: B rows of it.
        kind: "template" takes the fixed masks of a face for every image; "exact" the data set's
            own masks or those of the landmarks; "auto" exact ones where there are any, else the
            template.
        landmarks: per-image outlines, see `landmarks.landmarks_of`.

    Raises:
        UserError: no regions; exact masks are missing, of another size than the images, or empty.

    >>> from fer_lightning.data.faces import drawn_faces
    >>> find_masks(drawn_faces(7), [0, 3]).regions_from
    ('exact', 'exact')
    """
    regions = regions_of(image_set)
    rows = np.asarray(index, np.int64)
    size = (image_set.images.shape[2], image_set.images.shape[3])
    if kind == "template":
        if regions is not FACE:
            raise UserError(
                f"expected faces for masks of kind 'template' but got {image_set.name}; "
                "use its own masks"
            )
        found = _of_landmarks(image_set, rows, size, None)
    elif image_set.masks is not None:
        word = "exact" if image_set.name.startswith("drawn") else "label maps"
        own = regions.stack(_own_masks(image_set, regions, rows, size))
        found = Found(own, (word,) * len(rows))
    elif landmarks is None and kind == "exact":
        raise UserError(
            f"expected exact region masks but got {image_set.name} without any; "
            "give a landmark file or use masks of kind 'template'"
        )
    else:
        found = _of_landmarks(image_set, rows, size, landmarks)
        if kind == "exact" and "template" in found.regions_from:
            row = rows[found.regions_from.index("template")]
            raise UserError(
                f"expected landmarks of every image but got none of {image_set.files[row]}; "
                "add it to the landmark file or use masks of kind 'auto'"
            )
    if regions is FACE:  # a face has all of them; a scratch may be on one picture and not another
        refuse_empty(found.masks, [str(image_set.files[row]) for row in rows], regions)
    return found


def _of_landmarks(
    image_set: ImageSet,
    rows: NDArray[np.int64],
    size: tuple[int, int],
    landmarks: MaskSource | None,
) -> Found:
    """Masks from landmarks, and the template where there are none."""
    result = np.repeat(_template(size)[None], len(rows), axis=0)
    if landmarks is None:
        return Found(result, ("template",) * len(rows))
    own, known = landmarks.masks([image_key(image_set.unplanted.images[row]) for row in rows], size)
    result[known] = own[known]
    return Found(result, tuple(np.where(known, "landmarks", "template").tolist()))


def _own_masks(
    image_set: ImageSet, regions: Regions, rows: NDArray[np.int64], size: tuple[int, int]
) -> dict[str, Masks]:
    assert image_set.masks is not None
    if image_set.masks.shape[2:] != size:
        height, width = image_set.masks.shape[2:]
        raise UserError(
            f"expected masks of {size[0]}x{size[1]} pixels like the images of {image_set.name} "
            f"but got {height}x{width}; make the masks at the images' size"
        )
    missing = [name for name in regions.base if name not in image_set.mask_regions]
    if missing:
        raise UserError(
            f"expected masks of {', '.join(regions.base)} but got none of {', '.join(missing)}; "
            "add them or use masks of kind 'template'"
        )
    places = {name: image_set.mask_regions.index(name) for name in regions.base}
    return {name: image_set.masks[rows, place] for name, place in places.items()}


def refuse_empty(masks: Masks, names: Sequence[str], regions: Regions) -> None:
    """Raise a UserError that names the first region without a pixel in (B, R, H, W)."""
    empty = np.argwhere(~masks.any(axis=(2, 3)))
    if len(empty):
        image, region = empty[0]
        raise UserError(
            f"expected a region with pixels but got an empty {regions.order[region]} mask "
            f"for {names[image]}; leave that image out or mend its outline"
        )


SENTENCES = {
    "exact": "exact masks of each image, as it was drawn",
    "label maps": "masks of each image, from its label map",
    "landmarks": "regions of each face, from its landmarks",
    "template": "one template of masks on the mean face, not the regions of each image",
}


def regions_word(regions_from: Sequence[str]) -> str:
    """Say in a word where the masks of several images come from: "landmarks" if any do.

    >>> regions_word(["template", "landmarks"]), regions_word(["exact"]), regions_word([])
    ('landmarks', 'exact', '')
    """
    words = set(regions_from)
    return next((word for word in SENTENCES if word in words), "")


def regions_sentence(
    regions_from: Sequence[str], labels: Sequence[int] | NDArray[np.int64], classes: Sequence[str]
) -> str:
    """Say where masks come from; where the template stands in for landmarks, for which classes.

    >>> regions_sentence(["landmarks", "template", "landmarks"], [0, 1, 1], ["sad", "happy"])
    'regions of each face, from its landmarks; the template for 1 of 3 images (happy 1 of 2)'
    """
    word = regions_word(regions_from)
    sentence = SENTENCES.get(word, "no masks")
    other = np.array(regions_from) == "template"
    if word != "landmarks" or not other.any():
        return sentence
    counts = np.bincount(np.asarray(labels), minlength=len(classes))
    fell_back = np.bincount(np.asarray(labels)[other], minlength=len(classes))
    each = [
        f"{name} {some:,} of {all_:,}"
        for name, some, all_ in zip(classes, fell_back, counts, strict=True)
        if some
    ]
    return (
        f"{sentence}; the template for {other.sum():,} of {len(other):,} images ({', '.join(each)})"
    )


def region_masks(
    data: ImageSet,
    rows: NDArray[np.int64],
    region: str,
    landmarks: MaskSource | None = None,
) -> NDArray[np.uint8]:
    """Return (N, H, W) masks of one region, 0 or 1: exact where they are known, else the template.

    The template takes no memory: all images share it.

    Raises:
        UserError: an unknown region, or a data set without regions.

    >>> from fer_lightning.data.faces import drawn_faces
    >>> region_masks(drawn_faces(20), np.arange(5), "mouth").shape
    (5, 48, 48)
    """
    order = regions_of(data).order
    if region not in order:
        raise UserError(f"expected a region but got '{region}'; {nearest(region, order)}")
    if data.masks is None and landmarks is None:
        size = (data.images.shape[2], data.images.shape[3])
        mask = template(size)[region].astype(np.uint8)
        return np.broadcast_to(mask, (len(rows), *size))
    at = order.index(region)
    parts = [
        masks_for(data, rows[i : i + AT_ONCE], landmarks=landmarks)[:, at].astype(np.uint8)
        for i in range(0, len(rows), AT_ONCE)
    ]
    return np.concatenate(parts)
