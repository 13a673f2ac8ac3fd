"""A text file with one ``path label`` or ``path,label`` a line, as RAF-DB and others have."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from fer_lightning.data.image_set import Usage
from fer_lightning.data.readers import limits
from fer_lightning.data.readers.layout import path_usage
from fer_lightning.data.readers.trees import Tree, is_image_name
from fer_lightning.errors import UserError


@dataclass(frozen=True)
class Listing:
    """The pictures that list files name: (N) paths in the tree, labels as written, usages."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    usage: tuple[Usage, ...]


def parse_line(line: str) -> tuple[str, str] | None:
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
    return any(parse_line(line) is not None for line in lines[:2])


def read_lists(tree: Tree, lists: Sequence[str]) -> Listing:
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
    return Listing(names, labels, usage)


def _read_list(tree: Tree, list_name: str, finder: "_Finder") -> list[tuple[str, str, Usage]]:
    with tree.open(list_name) as file:
        data = file.read(limits.MAX_LIST_FILE + 1)
    if len(data) > limits.MAX_LIST_FILE:
        raise UserError(f"expected a list of pictures, but {list_name} is too large; shorten it")
    folder = str(PurePosixPath(list_name).parent)
    own = path_usage(PurePosixPath(list_name).name)
    rows: dict[str, tuple[str, str, Usage]] = {}
    for number, line in enumerate(data.decode("utf-8-sig", "replace").split("\n"), start=1):
        if not line.strip():
            continue
        parsed = parse_line(line)
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
        usage = path_usage(name)
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
