"""Which pictures carry which label and belong to which part of a split: class folders and lists.

A list is a text file with one ``path label`` or ``path,label`` per line, as RAF-DB and others have.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import Usage
from fer_lightning.data.labels import FER_CLASSES, FERPLUS_CLASSES, canonical
from fer_lightning.data.readers import limits
from fer_lightning.data.readers.trees import Tree, is_image_name
from fer_lightning.errors import UserError

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
_KNOWN_ORDERS = {frozenset(order): order for order in (FER_CLASSES, FERPLUS_CLASSES)}


def _folder_usage(folder: str) -> Usage | None:
    return FOLDERS.get(folder.lower())


def official_usage(name: str) -> Usage | None:
    """Return the part of FER-2013's split that a file's own name gives back, if any.

    >>> official_usage("test/angry/PublicTest_4711.jpg"), official_usage("test/angry/1.jpg")
    (<Usage.PUBLIC_TEST: 1>, None)
    """
    match = _OFFICIAL.match(name.rsplit("/", 1)[-1])
    return FOLDERS[match[1].lower()] if match else None


def _path_usage(name: str) -> Usage | None:
    """Return what a listed path tells: its official name, a folder of it, or how its file begins.

    >>> _path_usage("train_00001.jpg"), _path_usage("val/7.png"), _path_usage("testament.png")
    (<Usage.TRAINING: 0>, <Usage.PUBLIC_TEST: 1>, None)
    """
    *folders, file = name.split("/")
    found = [official_usage(file), *map(_folder_usage, reversed(folders))]
    prefix = _PREFIX.match(file.lower())
    found.append(_folder_usage(prefix[0]) if prefix else None)
    return next((usage for usage in found if usage is not None), None)


@dataclass(frozen=True)
class Layout:
    """Pictures with a label each, from class folders or from lists."""

    names: tuple[str, ...]  # (N) paths inside the tree, sorted
    labels: tuple[str, ...]  # (N) as the source writes them
    usage: tuple[Usage, ...]  # (N) parts of the split
    root: str = ""  # folder whose subfolders are the classes or the parts, "" for the top
    is_split: bool = False  # whether there are folders such as train and test above the classes

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
        part = _folder_usage(above[-1]) if above else None
        if part is None and _folder_usage(label) is not None:
            continue  # pictures directly in train/ or test/ have no class
        usage = official_usage(name)
        if usage is None:
            usage = Usage.UNKNOWN if part is None else part
        # a split's root and a single tree's root never share a key
        key = (*above, "") if part is None else (*above[:-1], "split")
        roots[key].append((name, label, usage))
    layouts = []
    for (*root, kind), rows in roots.items():
        names, labels, parts = zip(*sorted(rows), strict=True)
        if len(set(labels)) >= 2:
            layouts.append(Layout(names, labels, parts, "/".join(root), kind == "split"))
    return sorted(layouts, key=_rank)


def _rank(layout: Layout) -> tuple[bool, bool, int, str]:
    depth = layout.root.count("/") + bool(layout.root)
    return not layout.is_fer, not layout.is_split, depth, layout.root


def number_classes(
    labels: Sequence[str], class_names: Mapping[str, str] | None = None
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Give every label, (N), a class index, (N,) int64; also return the class names.

    The expressions keep FER-2013's order (with contempt as the eighth, FERPlus' one); any other
    classes are sorted, numbers by their value.

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


def _parse_line(line: str) -> tuple[str, str] | None:
    """Split a line into path and label, or return None if its first field is no picture."""
    line = line.strip()
    path, found, label = line.rpartition("," if "," in line else "\t" if "\t" in line else " ")
    path, label = path.strip().strip('"'), label.strip().strip('"')
    return (path.replace("\\", "/"), label) if found and label and is_image_name(path) else None


def is_list(head: bytes) -> bool:
    r"""Tell by its first bytes whether a file is a list of pictures; one header line is allowed.

    >>> is_list(b"path,label\na.jpg,1\n"), is_list(b"a.jpg 1"), is_list(b"some text\nmore\n")
    (True, True, False)
    """
    text = head.decode("utf-8", "replace")
    lines = [line for line in text.split("\n")[:3] if line.strip()]
    return any(_parse_line(line) is not None for line in lines[:2])


def read_lists(tree: Tree, lists: Sequence[str]) -> Layout:
    """Read list files whose pictures lie in the same tree.

    Several lists, such as one for train and one for test, are joined when no picture is in two of
    them; otherwise only the longest counts. A path is looked for beside its list, then from the
    top of the tree, then by its file name alone, where RAF-DB's ``_aligned`` copy comes first.
    """
    finder = _Finder(tree)
    rows = [_read_list(tree, name, finder) for name in sorted(lists)]
    joined = [row for found in rows for row in found]
    if len({name for name, _, _ in joined}) < len(joined):
        joined = max(rows, key=len)
    if not joined:
        raise UserError(f"expected lines of path and label, but {lists[0]} has none; fill it")
    names, labels, usage = zip(*sorted(joined), strict=True)
    return Layout(names, labels, usage)


def _read_list(tree: Tree, list_name: str, finder: "_Finder") -> list[tuple[str, str, Usage]]:
    with tree.open(list_name) as file:
        data = file.read(limits.MAX_LIST_FILE + 1)
    if len(data) > limits.MAX_LIST_FILE:
        raise UserError(f"expected a list of pictures, but {list_name} is too large; shorten it")
    folder = str(PurePosixPath(list_name).parent)
    own = _path_usage(PurePosixPath(list_name).name)
    rows: dict[str, tuple[str, str, Usage]] = {}
    for number, line in enumerate(data.decode("utf-8-sig", "replace").split("\n"), start=1):
        if not line.strip():
            continue
        parsed = _parse_line(line)
        place = f"line {number} of {list_name}"
        if parsed is None and number == 1:  # a header
            continue
        if parsed is None:
            raise UserError(
                f"expected a picture's path and its label, but got {line.strip()[:80]!r} in "
                f"{place}; mend or remove the line"
            )
        name = finder.find(parsed[0], folder, place)
        if name in rows:
            raise UserError(f"expected each picture once, but {place} repeats {name}; remove one")
        usage = _path_usage(name)
        usage = usage if usage is not None else own
        rows[name] = (name, parsed[1], Usage.UNKNOWN if usage is None else usage)
    return list(rows.values())


class _Finder:
    """Finds listed paths among a tree's pictures; nothing outside the tree is ever touched."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._by_file: dict[str, list[str]] = defaultdict(list)
        for name in tree.members:
            if is_image_name(name):
                self._by_file[name.rsplit("/", 1)[-1]].append(name)

    def find(self, path: str, folder: str, place: str) -> str:
        """Return the path inside the tree of a picture listed in the given folder's list."""
        for exact in (str(PurePosixPath(folder, path.lstrip("/"))), str(PurePosixPath(path))):
            if exact in self._tree.members:
                return exact
        file = PurePosixPath(path)
        for name in (f"{file.stem}_aligned{file.suffix}", file.name):
            found = self._by_file.get(name, [])
            if len(found) == 1:
                return found[0]
            if found:
                raise UserError(
                    f"expected one picture for {path} ({place}), but {self._tree.path} has "
                    f"{found[0]} and {found[1]}; list paths, not only file names"
                )
        raise UserError(
            f"expected the picture {path} ({place}) in {self._tree.path}, but it is not there; "
            "name the folder that holds both the list and the pictures"
        )
