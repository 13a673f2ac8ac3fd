"""Many picture files to one array: one size, one number of channels, damaged ones named."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.readers import limits
from fer_lightning.data.readers.decode import BadPictureError, decode, resize, to_grey
from fer_lightning.data.readers.tree import Tree
from fer_lightning.errors import UserError


class Pictures(NamedTuple):
    """Decoded files.

    Attributes:
        images: (n, C, H, W) uint8, C = 1 or 3.
        kept: (n,) int64, which of the asked-for names they are.
        damaged: the names that were left out.
        native_sizes: the (height, width) that occurred before resizing.
        all_grey: whether none had any colour.
    """

    images: NDArray[np.uint8]
    kept: NDArray[np.int64]
    damaged: list[str]
    native_sizes: set[tuple[int, int]]
    all_grey: bool


def read_pictures(
    tree: Tree,
    names: Sequence[str],
    *,
    image_size: int | None,
    colour: bool | None,
    on_corrupt: Literal["error", "skip"],
) -> Pictures:
    """Read and decode the named files, in the order of `names`.

    Args:
        tree: where they lie.
        names: paths inside it, each once.
        image_size: side to resize every picture to; None keeps the size they share.
        colour: True for three channels, False for one, None for one if all are grey.
        on_corrupt: whether a damaged file is an error or left out.
    """
    place = {name: row for row, name in enumerate(names)}
    rows: dict[int, NDArray[np.uint8]] = {}
    damaged: list[str] = []
    native: dict[tuple[int, int], str] = {}  # size → the first file that has it
    all_grey = True
    for name, data in tree.read(names):
        try:
            picture = decode(data)
        except BadPictureError as reason:
            damaged.append(name)
            if on_corrupt == "error":
                raise UserError(
                    f"expected a sound picture, but {name} in {tree.path} is not ({reason}); "
                    "replace it, or leave such files out with on_corrupt='skip'"
                ) from None
            continue
        native.setdefault((picture.shape[0], picture.shape[1]), name)
        all_grey &= picture.ndim == 2
        picture = to_grey(picture) if colour is False else picture
        picture = picture if image_size is None else resize(picture, image_size)
        _check_fit(native, image_size, picture.nbytes * len(names), tree)
        rows[place[name]] = picture
    if not rows:
        raise UserError(f"expected pictures, but all {len(names)} in {tree.path} are damaged")
    kept = sorted(rows)
    is_colour = not all_grey if colour is None else colour
    images = _stack([rows.pop(row) for row in kept], is_colour)
    return Pictures(images, np.array(kept, np.int64), sorted(damaged), set(native), all_grey)


def conform(
    images: NDArray[np.uint8], image_size: int | None, colour: bool | None
) -> NDArray[np.uint8]:
    """Bring images that are already an array, (N, 1, H, W), to the asked-for size and channels.

    >>> conform(np.zeros((2, 1, 48, 48), np.uint8), image_size=24, colour=True).shape
    (2, 3, 24, 24)
    """
    if image_size is not None and images.shape[2:] != (image_size, image_size):
        images = np.stack([resize(image[0], image_size) for image in images])[:, None]
    return np.repeat(images, 3, axis=1) if colour else images


def _check_fit(
    native: dict[tuple[int, int], str], image_size: int | None, needed: int, tree: Tree
) -> None:
    if image_size is None and len(native) > 1:
        (one, two) = native
        raise UserError(
            f"expected pictures of one size, but in {tree.path} {native[one]} has "
            f"{one[1]}x{one[0]} pixels and {native[two]} has {two[1]}x{two[0]}; give image_size"
        )
    if needed > limits.MAX_IN_MEMORY:
        raise UserError(
            f"expected pictures that fit into memory, but those in {tree.path} would need "
            f"{needed / limits.GIB:.0f} GiB; give a smaller image_size"
        )


def _stack(pictures: list[NDArray[np.uint8]], is_colour: bool) -> NDArray[np.uint8]:
    if not is_colour:
        return np.stack(pictures)[:, None]
    height, width = pictures[0].shape[:2]
    images = np.empty((len(pictures), 3, height, width), np.uint8)
    for image, picture in zip(images, pictures, strict=True):
        image[:] = picture if picture.ndim == 2 else picture.transpose(2, 0, 1)
    return images
