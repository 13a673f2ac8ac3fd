"""Which folders of a tree are classes and which are parts of a split, told by paths alone."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from fer_lightning.data.image_set import Usage
from fer_lightning.data.labels import FER_CLASSES, canonical
from fer_lightning.data.readers.tree import is_image_name
from fer_lightning.data.readers.usage_names import folder_usage, official_usage


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

    >>> [found] = find_layouts(["f/train/sad/1.jpg", "f/train/fear/2.jpg", "f/test/sad/3.jpg"])
    >>> found.root, found.is_split, found.labels
    ('f', True, ('sad', 'fear', 'sad'))
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
