"""Which folders of a tree are classes and which are parts of a split, told by paths alone."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import Usage
from fer_lightning.data.labels import FER_CLASSES, FERPLUS_CLASSES, canonical
from fer_lightning.data.readers.trees import is_image_name
from fer_lightning.errors import UserError

# --- The official split, told by the names of folders and files


FOLDERS = {
    "train": Usage.TRAINING,
    "training": Usage.TRAINING,
    "val": Usage.PUBLIC_TEST,
    "valid": Usage.PUBLIC_TEST,
    "validation": Usage.PUBLIC_TEST,
    "publictest": Usage.PUBLIC_TEST,
    "public_test": Usage.PUBLIC_TEST,
    "test": Usage.PRIVATE_TEST,
    "testing": Usage.PRIVATE_TEST,
    "privatetest": Usage.PRIVATE_TEST,
    "private_test": Usage.PRIVATE_TEST,
}
_OFFICIAL = re.compile("(Training|PublicTest|PrivateTest)_[0-9]+", re.IGNORECASE)
_PREFIX = re.compile("[a-z]+")


def folder_usage(folder: str) -> Usage | None:
    """Return the part of the split that a folder's name stands for, if any."""
    return FOLDERS.get(folder.lower())


def official_usage(name: str) -> Usage | None:
    """Return the part of FER-2013's split that a file's own name gives back, if any.

    >>> official_usage("test/angry/PublicTest_4711.jpg"), official_usage("test/angry/1.jpg")
    (<Usage.PUBLIC_TEST: 1>, None)
    """
    match = _OFFICIAL.match(name.rsplit("/", 1)[-1])
    return FOLDERS[match[1].lower()] if match else None


def path_usage(name: str) -> Usage | None:
    """Return what a listed path tells: its official name, a folder of it, or how its file begins.

    >>> path_usage("train_00001.jpg"), path_usage("val/7.png"), path_usage("testament.png")
    (<Usage.TRAINING: 0>, <Usage.PUBLIC_TEST: 1>, None)
    """
    *folders, file = name.split("/")
    found = [official_usage(file), *map(folder_usage, reversed(folders))]
    prefix = _PREFIX.match(file.lower())
    found.append(folder_usage(prefix[0]) if prefix else None)
    return next((usage for usage in found if usage is not None), None)


@dataclass(frozen=True)
class Layout:
    """A folder whose subfolders are classes, or parts of a split that hold classes.

    Attributes:
        root: path of that folder inside the tree, ``""`` for the top.
        is_split: whether there are folders such as train and test between it and the classes.
        names: (N) paths of the pictures, sorted.
        labels: (N) the class folder of each.
        usage: (N) the part of the split of each.
    """

    root: str
    is_split: bool
    names: tuple[str, ...]
    labels: tuple[str, ...]
    usage: tuple[Usage, ...]

    @property
    def is_fer(self) -> bool:
        """Whether the class folders are the seven expressions under any of their usual names."""
        return {canonical(label) for label in self.labels} == set(FER_CLASSES)


def find_layouts(names: Iterable[str]) -> list[Layout]:
    """Find every data set of class folders among the paths of a tree, the likeliest first.

    A class folder holds pictures directly. Expressions come before other classes, a split before
    a single tree, then the one nearest to the top, then by name. Folders with fewer than two
    classes are none.
    """
    roots: dict[tuple[str, ...], list[tuple[str, str, Usage]]] = defaultdict(list)
    for name in names:
        *folders, _ = name.split("/")
        if not folders or not is_image_name(name):
            continue
        *above, label = folders
        part = folder_usage(above[-1]) if above else None
        if part is None and folder_usage(label) is not None:
            continue  # pictures directly in train/ or test/ have no class
        usage = official_usage(name)
        if usage is None:
            usage = Usage.UNKNOWN if part is None else part
        # a split's root and a single tree's root never share a key
        key = (*above, "") if part is None else (*above[:-1], "split")
        roots[key].append((name, label, usage))
    layouts = [_layout(key, rows) for key, rows in roots.items()]
    usable = [layout for layout in layouts if len(set(layout.labels)) >= 2]
    return sorted(usable, key=_rank)


def _layout(key: tuple[str, ...], rows: list[tuple[str, str, Usage]]) -> Layout:
    names, labels, usage = zip(*sorted(rows), strict=True)
    return Layout("/".join(key[:-1]), key[-1] == "split", names, labels, usage)


def _rank(layout: Layout) -> tuple[bool, bool, int, str]:
    depth = layout.root.count("/") + bool(layout.root)
    return not layout.is_fer, not layout.is_split, depth, layout.root


# --- From the labels a source writes to class names in a fixed order


_KNOWN_ORDERS = {frozenset(order): order for order in (FER_CLASSES, FERPLUS_CLASSES)}


def number_classes(
    labels: Sequence[str], class_names: Mapping[str, str] | None = None
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Give every label a class index.

    The expressions keep FER-2013's order (with contempt as the eighth, FERPlus' one); any other
    classes are sorted, numbers by their value.

    Args:
        labels: (N) folder names or the labels of a list file.
        class_names: what some of them mean, e.g. ``{"1": "surprise", "2": "fear"}``.

    Returns:
        (N,) int64 indices and the class names.

    >>> number_classes(["2", "1", "2"], {"1": "cat", "2": "ant"})
    (array([0, 1, 0]), ('ant', 'cat'))
    >>> number_classes(["10", "9"])
    (array([1, 0]), ('9', '10'))
    """
    written = set(labels)
    if class_names is not None:
        _check_map(written, class_names)
    meaning = {label: canonical((class_names or {}).get(label, label)) for label in written}
    found = frozenset(meaning.values())
    classes = _KNOWN_ORDERS.get(found) or tuple(sorted(found, key=_by_value))
    if len(classes) < 2:
        raise UserError(
            f"expected at least two classes, but got only {', '.join(classes)}; check class_names"
        )
    index = {label: classes.index(name) for label, name in meaning.items()}
    return np.array([index[label] for label in labels], np.int64), classes


def _by_value(name: str) -> tuple[bool, int, str]:
    is_number = name.isascii() and name.isdigit() and len(name) < 10
    return not is_number, int(name) if is_number else 0, name


def _check_map(written: set[str], class_names: Mapping[str, str]) -> None:
    shown = ", ".join(sorted(written, key=_by_value)[:10])
    if not written & set(class_names):
        raise UserError(
            f"expected class_names to rename some of the labels {shown}, but it names only "
            f"{', '.join(class_names)}; write its keys as the source does"
        )
    unnamed = [label for label in written - set(class_names) if label.isdigit()]
    if unnamed:
        raise UserError(
            f"expected class_names to name every number, but {min(unnamed, key=_by_value)} is "
            f"missing (labels: {shown}); add it"
        )
