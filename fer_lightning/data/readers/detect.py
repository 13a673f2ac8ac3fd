"""Which forms of a data set a folder, an archive or a file holds, told by content."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from fer_lightning.data.readers import archive, limits
from fer_lightning.data.readers.cifar import find_batches
from fer_lightning.data.readers.csv_header import has_labels, has_usage, is_fer_csv
from fer_lightning.data.readers.layout import Layout, find_layouts
from fer_lightning.data.readers.listfile import is_list
from fer_lightning.data.readers.tree import Tree, is_image_name
from fer_lightning.errors import UserError

Kind = Literal["auto", "fer2013", "folder"]


class Rank(IntEnum):
    """What is preferred when a source holds several data sets, the best first."""

    CSV = 0  # with the official split
    CSV_WITHOUT_USAGE = 1
    EXPRESSION_FOLDERS = 2
    SPLIT_FOLDERS = 3
    CIFAR_BATCHES = 4
    LIST = 5
    FOLDERS = 6
    CSV_WITHOUT_LABELS = 7  # cannot be read, but the message can say why


_KINDS: dict[str, frozenset[Rank]] = {
    "auto": frozenset(Rank),
    "fer2013": frozenset(
        (Rank.CSV, Rank.CSV_WITHOUT_USAGE, Rank.EXPRESSION_FOLDERS, Rank.CSV_WITHOUT_LABELS)
    ),
    "folder": frozenset((Rank.EXPRESSION_FOLDERS, Rank.SPLIT_FOLDERS, Rank.LIST, Rank.FOLDERS)),
}


@dataclass(frozen=True)
class Form:
    """A data set found in a tree.

    Attributes:
        rank: what it is.
        where: path in the tree of its file or folder, ``""`` for the top.
        layout: the class folders, if it consists of such.
        lists: the list files, if it consists of such.
        batches: the files of CIFAR-10's Python version, if it consists of such.
    """

    rank: Rank
    where: str
    layout: Layout | None = None
    lists: tuple[str, ...] = ()
    batches: tuple[str, ...] = ()

    @property
    def is_csv(self) -> bool:
        """Whether it is a CSV of faces, labelled or not."""
        return self.layout is None and not self.lists and not self.batches


class NothingFoundError(UserError):
    """There is no data set of the wanted kind."""


def find_forms(tree: Tree, kind: Kind = "auto") -> list[Form]:
    """Return every data set that a tree holds, the preferred one first."""
    heads = {name: tree.head(name) for name in _texts(tree)}
    csvs = [Form(_csv_rank(head), name) for name, head in heads.items() if is_fer_csv(head)]
    csvs.sort(key=lambda form: (form.rank, -tree.members[form.where], form.where))
    layouts = [Form(_layout_rank(found), found.root, found) for found in find_layouts(tree.members)]
    lists = tuple(name for name, head in heads.items() if not is_fer_csv(head) and is_list(head))
    listed = [Form(Rank.LIST, lists[0], lists=lists)] if lists else []
    batches = [
        Form(Rank.CIFAR_BATCHES, folder, batches=names)
        for folder, names in find_batches(tree.members).items()
    ]
    forms = [form for form in (*csvs, *layouts, *batches, *listed) if form.rank in _KINDS[kind]]
    return sorted(forms, key=lambda form: form.rank)  # stable: keeps the order within a rank


def find_archives(tree: Tree) -> list[str]:
    """Return the files of a tree that are archives themselves."""
    return [name for name in _texts(tree) if archive.sniff(tree.head(name)) is not None]


def nothing_found(tree: Tree, kind: Kind) -> NothingFoundError:
    """Say what was looked for and what there is instead."""
    wanted = "FER-2013" if kind == "fer2013" else "a data set"
    forms = "a CSV with the columns emotion and pixels, class folders of pictures, or a list file"
    if not tree.members:
        return NothingFoundError(f"expected {wanted}, but {tree.path} is empty; put there {forms}")
    inner = find_archives(tree)
    if inner:
        return NothingFoundError(
            f"expected {wanted}, but {tree.path} holds the archive {inner[0]}; "
            "unpack the outer one first"
        )
    names = list(tree.members)
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return NothingFoundError(
        f"expected {wanted} ({forms}), but {tree.path} holds {len(names):,} files ({shown}); "
        "name another path"
    )


def _texts(tree: Tree) -> list[str]:
    """Return the files to look into, those nearest to the top first."""
    names = [name for name in tree.members if not is_image_name(name)]
    return sorted(names, key=lambda name: (name.count("/"), name))[: limits.MAX_SNIFFED]


def _csv_rank(head: bytes) -> Rank:
    if not has_labels(head):
        return Rank.CSV_WITHOUT_LABELS
    return Rank.CSV if has_usage(head) else Rank.CSV_WITHOUT_USAGE


def _layout_rank(layout: Layout) -> Rank:
    if layout.is_fer:
        return Rank.EXPRESSION_FOLDERS
    return Rank.SPLIT_FOLDERS if layout.is_split else Rank.FOLDERS
