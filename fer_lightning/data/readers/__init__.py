"""Every form in which people have their faces, read into an `ImageSet`."""

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Literal, TypedDict

import numpy as np

from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.readers import ferplus as ferplus_votes
from fer_lightning.data.readers.cifar import read_batches
from fer_lightning.data.readers.detect import (
    Form,
    Kind,
    NothingFoundError,
    Rank,
    locate,
    open_source,
)
from fer_lightning.data.readers.fer2013 import SIDE, fer2013_name, read_csv
from fer_lightning.data.readers.layout import Layout, number_classes, official_usage, read_lists
from fer_lightning.data.readers.pictures import conform, read_pictures
from fer_lightning.data.readers.trees import Tree, is_image_name
from fer_lightning.errors import UserError

__all__ = ["ReadOptions", "has_fer2013", "read"]

PathOrStr = str | PathLike[str]


class ReadOptions(TypedDict, total=False):
    """The options of `read`, for functions that hand them on."""

    class_names: Mapping[str, str] | None
    image_size: int | None
    colour: bool | None
    on_corrupt: Literal["error", "skip"]
    ferplus: PathOrStr | None
    soft_labels: bool
    min_agreement: float
    kind: Kind


def read(
    path: PathOrStr,
    *,
    class_names: Mapping[str, str] | None = None,
    image_size: int | None = None,
    colour: bool | None = None,
    on_corrupt: Literal["error", "skip"] = "error",
    ferplus: PathOrStr | None = None,
    soft_labels: bool = False,
    min_agreement: float = 0.0,
    kind: Kind = "auto",
) -> ImageSet:
    r"""Read a data set of any known form, found by its content.

    Known are FER-2013's CSV files (with or without Usage), class folders of pictures with or
    without a split, list files of paths and labels, and CIFAR-10's Python version; each as it is,
    inside a zip, tar or tar.gz file, or somewhere in the given folder. Nothing is unpacked to disk
    and no pickle is executed.

    Args:
        path: file or folder.
        class_names: what folder names or listed labels mean, e.g. ``{"1": "surprise"}``.
        image_size: side in pixels to resize to; needed when pictures differ in size.
        colour: True for three channels, False for one; None for one if all pictures are grey.
        on_corrupt: whether a damaged picture is an error or left out and counted.
        ferplus: FERPlus' ``fer2013new.csv``, whose votes replace the labels of ``fer2013.csv``.
        soft_labels: keep the distribution of FERPlus' votes.
        min_agreement: share of votes that FERPlus' winner must have.
        kind: ``fer2013`` takes nothing else, ``folder`` only class folders and lists.

    Returns:
        All images in memory; `notes` tells what was left out or chosen.

    Raises:
        UserError: when there is no such data set or something in it is wrong.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     row = " ".join(["7"] * 2304)
    ...     _ = Path(folder, "faces.csv").write_text(f"emotion,pixels\n3,{row}\n")
    ...     faces = read(folder)
    >>> faces.name, faces.images.shape, faces.classes[faces.labels[0]]
    ('FER-2013 (partial, 1 images)', (1, 1, 48, 48), 'happy')
    """
    if image_size is not None and not 1 <= image_size <= 4096:
        raise UserError(f"expected image_size from 1 to 4096, but got {image_size}; change it")
    if ferplus is None and (soft_labels or min_agreement):
        raise UserError(
            "expected FERPlus votes for soft_labels and min_agreement, but ferplus is not given; "
            "set it to the path of fer2013new.csv"
        )
    location = locate(Path(path), kind)
    with open_source(location.path, kind) as (tree, forms):
        form = forms[0]
        if form.is_csv:
            _refuse(class_names, "class_names", "class folders or a list", form, tree)
            found = _from_csv(tree, form.where, image_size=image_size, colour=colour)
        elif form.batches:
            _refuse(class_names, "class_names", "class folders or a list", form, tree)
            _refuse(ferplus, "ferplus", "fer2013.csv, whose rows are in order,", form, tree)
            found = read_batches(tree, form.batches, image_size=image_size, colour=colour)
        else:
            _refuse(ferplus, "ferplus", "fer2013.csv, whose rows are in order,", form, tree)
            pictures = form.layout or read_lists(tree, form.lists)
            found = _from_pictures(
                tree,
                pictures,
                class_names=class_names,
                image_size=image_size,
                colour=colour,
                on_corrupt=on_corrupt,
            )
    if kind == "fer2013" and not found.name.startswith("FER-2013"):
        raise UserError(
            f"expected FER-2013, but {location.path} holds {len(found):,} images of shape "
            f"{found.images.shape[1:]} that are not; read it with kind='auto'"
        )
    if ferplus is not None:
        found = ferplus_votes.join(
            found, Path(ferplus), soft_labels=soft_labels, min_agreement=min_agreement
        )
    inside = [] if location.path.is_dir() else [other.where or "." for other in forms[1:]]
    others = [*location.others, *inside]
    if others:
        chosen = {"chosen": str(tree.path / form.where), "also found": others[:10]}
        found = replace(found, notes={**chosen, **found.notes})
    return found


def has_fer2013(path: PathOrStr) -> bool:
    """Tell, without reading the images, whether there is FER-2013 at a path or in a folder."""
    try:
        with open_source(locate(Path(path), "fer2013").path, "fer2013") as (_, forms):
            return forms[0].rank <= Rank.EXPRESSION_FOLDERS
    except NothingFoundError:
        return False


def _refuse(value: object, option: str, needed: str, form: Form, tree: Tree) -> None:
    if value is not None:
        raise UserError(
            f"expected {needed} for the option {option}, but {tree.path} holds "
            f"{form.where or 'class folders'}; remove the option or name another path"
        )


def _from_csv(tree: Tree, name: str, *, image_size: int | None, colour: bool | None) -> ImageSet:
    """Read a CSV of faces; image i is called by its row, counted from 1 below the header."""
    with tree.open(name) as file:
        rows = read_csv(file, f"{tree.path / name}")
    return ImageSet(
        name=fer2013_name(rows.labels, rows.usage) or _plain_name(tree.path / name),
        images=conform(rows.pixels, image_size, colour),
        labels=rows.labels,
        usage=rows.usage,
        classes=FER_CLASSES,
        files=np.array([f"row {row}" for row in range(1, len(rows.labels) + 1)]),
    )


def _from_pictures(
    tree: Tree,
    pictures: Layout,
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
    if classes == FER_CLASSES and found.native_sizes == {(SIDE, SIDE)} and found.all_grey:
        name = fer2013_name(kept_labels, kept_usage)
        # seven class folders of 48x48 faces could be any set: a part needs official file names too
        if name != "FER-2013" and None in map(official_usage, kept_names):
            name = None
    return ImageSet(
        name=name or _plain_name(tree.path),
        images=found.images,
        labels=kept_labels,
        usage=kept_usage,
        classes=classes,
        files=np.array([_printable(name) for name in kept_names]),
        notes=notes,
    )


def _plain_name(path: Path) -> str:
    """Return the name of a source without its endings."""
    return path.resolve().name.split(".")[0] or "data"


def _printable(name: str) -> str:
    """Replace bytes of a file name that are not text."""
    return name.encode("utf-8", "replace").decode()
