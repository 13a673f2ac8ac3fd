"""What the readers of single forms deliver, put together as an `ImageSet`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.readers.fer2013 import SIDE, fer2013_name, read_csv
from fer_lightning.data.readers.layout import Layout, number_classes, official_usage
from fer_lightning.data.readers.listfile import Listing
from fer_lightning.data.readers.pictures import Pictures, conform, read_pictures
from fer_lightning.data.readers.trees import Tree, is_image_name


def from_csv(tree: Tree, name: str, *, image_size: int | None, colour: bool | None) -> ImageSet:
    """Read a CSV of faces; image i is called by its row, counted from 1 below the header."""
    with tree.open(name) as file:
        rows = read_csv(file, f"{tree.path / name}")
    return ImageSet(
        name=fer2013_name(rows.labels, rows.usage) or plain_name(tree.path / name),
        images=conform(rows.pixels, image_size, colour),
        labels=rows.labels,
        usage=rows.usage,
        classes=FER_CLASSES,
        files=np.array([f"row {row}" for row in range(1, len(rows.labels) + 1)]),
    )


def from_pictures(
    tree: Tree,
    pictures: Layout | Listing,
    *,
    class_names: Mapping[str, str] | None,
    image_size: int | None,
    colour: bool | None,
    on_corrupt: Literal["error", "skip"],
) -> ImageSet:
    """Read picture files with a label each, from class folders or a list."""
    names = pictures.names
    numbers, classes = number_classes(pictures.labels, class_names)
    found = read_pictures(tree, names, image_size=image_size, colour=colour, on_corrupt=on_corrupt)
    kept_names = [names[row] for row in found.kept]
    kept_labels = numbers[found.kept]
    kept_usage = np.array(pictures.usage, np.int8)[found.kept]
    notes: dict[str, object] = {}
    unused = sum(map(is_image_name, tree.members)) - len(names)
    if unused:
        notes["pictures without a label, not read"] = unused
    if found.damaged:
        notes["damaged pictures, left out"] = len(found.damaged)
        notes["the first of them"] = [_printable(name) for name in found.damaged[:10]]
    name = None
    if classes == FER_CLASSES and is_like_fer2013(found):
        name = _fer2013_name(kept_names, kept_labels, kept_usage)
    return ImageSet(
        name=name or plain_name(tree.path),
        images=found.images,
        labels=kept_labels,
        usage=kept_usage,
        classes=classes,
        files=np.array([_printable(name) for name in kept_names]),
        notes=notes,
    )


def is_like_fer2013(found: Pictures) -> bool:
    """Tell whether pictures are 48x48 and grey, as FER-2013's are."""
    return found.native_sizes == {(SIDE, SIDE)} and found.all_grey


def plain_name(path: Path) -> str:
    """Return the name of a source without its endings."""
    return path.resolve().name.split(".")[0] or "data"


def _fer2013_name(
    names: Sequence[str], labels: NDArray[np.int64], usage: NDArray[np.int8]
) -> str | None:
    name = fer2013_name(labels, usage)
    # seven class folders of 48x48 faces could be any set: a part needs the official file names too
    is_certain = name == "FER-2013" or all(official_usage(name) is not None for name in names)
    return name if is_certain else None


def _printable(name: str) -> str:
    """Replace bytes of a file name that are not text."""
    return name.encode("utf-8", "replace").decode()
