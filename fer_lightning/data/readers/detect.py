"""Which forms of a data set a folder, an archive or a file holds, told by content."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

from fer_lightning.data.readers import limits
from fer_lightning.data.readers.archives import open_archive, sniff
from fer_lightning.data.readers.cifar import find_batches
from fer_lightning.data.readers.fer2013 import column_names
from fer_lightning.data.readers.layout import Layout, find_layouts, is_list
from fer_lightning.data.readers.trees import FolderTree, Tree, is_image_name, unreadable
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
    """A data set found in a tree: class folders, list files, CIFAR-10's batches or a CSV."""

    rank: Rank
    where: str  # path in the tree of its file or folder, "" for the top
    layout: Layout | None = None
    lists: tuple[str, ...] = ()
    batches: tuple[str, ...] = ()

    @property
    def is_csv(self) -> bool:
        """Whether it is a CSV of faces, labelled or not."""
        return self.layout is None and not self.lists and not self.batches


PICTURE = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*")


class NothingFoundError(UserError):
    """There is no data set of the wanted kind."""


def _find_forms(tree: Tree, kind: Kind = "auto") -> list[Form]:
    """Return every data set that a tree holds, the preferred one first."""
    heads = {name: tree.head(name) for name in _texts(tree)}
    csvs = [Form(_csv_rank(head), name) for name, head in heads.items() if _is_fer_csv(head)]
    csvs.sort(key=lambda form: (form.rank, -tree.members[form.where], form.where))
    layouts = [Form(_layout_rank(found), found.root, found) for found in find_layouts(tree.members)]
    lists = tuple(name for name, head in heads.items() if not _is_fer_csv(head) and is_list(head))
    listed = [Form(Rank.LIST, lists[0], lists=lists)] if lists else []
    batches = [
        Form(Rank.CIFAR_BATCHES, folder, batches=names)
        for folder, names in find_batches(tree.members).items()
    ]
    forms = [form for form in (*csvs, *layouts, *batches, *listed) if form.rank in _KINDS[kind]]
    return sorted(forms, key=lambda form: form.rank)  # stable: keeps the order within a rank


def _archives(tree: Tree) -> list[str]:
    return [name for name in _texts(tree) if sniff(tree.head(name)) is not None]


def _nothing_found(tree: Tree, kind: Kind) -> NothingFoundError:
    """Say what was looked for and what there is instead."""
    wanted = "FER-2013" if kind == "fer2013" else "a data set"
    forms = "a CSV with the columns emotion and pixels, class folders of pictures, or a list file"
    if not tree.members:
        return NothingFoundError(f"expected {wanted}, but {tree.path} is empty; put there {forms}")
    inner = _archives(tree)
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


def _is_fer_csv(head: bytes) -> bool:
    return "pixels" in column_names(head)


def _csv_rank(head: bytes) -> Rank:
    columns = column_names(head)
    if "emotion" not in columns:
        return Rank.CSV_WITHOUT_LABELS
    return Rank.CSV if "usage" in columns else Rank.CSV_WITHOUT_USAGE


def _layout_rank(layout: Layout) -> Rank:
    if layout.is_fer:
        return Rank.EXPRESSION_FOLDERS
    return Rank.SPLIT_FOLDERS if layout.is_split else Rank.FOLDERS


class Location(NamedTuple):
    """Where the data set is: a file or folder, and what else was found and not taken."""

    path: Path
    others: tuple[str, ...]


def locate(path: Path, kind: Kind = "auto") -> Location:
    """Find the data set in a folder; a file is taken as it is and not opened.

    In a folder, FER-2013 comes first, in the order of `Rank`, lying open or in an archive; then
    other data sets in the same way.

    >>> locate(Path("no/such/folder"))
    Traceback (most recent call last):
    fer_lightning.data.readers.detect.NothingFoundError: expected a data set at no/such/folder, ...
    """
    try:
        is_there, is_file, is_dir = path.exists(), path.is_file(), path.is_dir()
    except OSError as error:
        raise unreadable(path, error) from None
    if not is_there:
        raise NothingFoundError(
            f"expected a data set at {path}, but there is nothing; check the path's spelling"
        )
    if is_file:
        return Location(path, ())
    if not is_dir:
        raise UserError(f"expected a file or folder, but {path} is neither; name another path")
    tree = FolderTree(path)
    found = [
        (form.rank, path if form.rank == Rank.LIST else path / PurePosixPath(form.where))
        for form in _find_forms(tree, kind)
    ]
    archives = [path / name for name in _archives(tree)]
    if not found and len(archives) == 1:
        return Location(archives[0], ())
    if archives and (not found or found[0][0] > Rank.EXPRESSION_FOLDERS):
        found += _look_inside(archives, kind, bool(found))
        found.sort(key=lambda item: item[0])  # stable: open ones stay before packed ones
    else:
        found += [(Rank.FOLDERS, place) for place in archives]
    if not found:
        raise _nothing_found(tree, kind)
    places = list(dict.fromkeys(place for _, place in found))
    others = (place.relative_to(path) if place != path else path for place in places[1:])
    return Location(places[0], tuple(map(str, others)))


@contextmanager
def open_source(path: Path, kind: Kind = "auto") -> Iterator[tuple[Tree, list[Form]]]:
    """Open a located file or folder together with the data sets in it, the preferred first."""
    tree = FolderTree(path) if path.is_dir() else open_archive(path)
    if tree is None:
        tree, forms = _single_file(path, kind)
    else:
        forms = _find_forms(tree, kind)
    with tree:
        if not forms:
            raise _nothing_found(tree, kind)
        yield tree, forms


def _single_file(path: Path, kind: Kind) -> tuple[Tree, list[Form]]:
    tree: Tree = FolderTree(path.parent, only=path.name)
    head = tree.head(path.name)
    if _is_fer_csv(head):
        return tree, _find_forms(tree, kind)
    if is_list(head) and kind != "fer2013":
        return FolderTree(path.parent), [Form(Rank.LIST, path.name, lists=(path.name,))]
    raise NothingFoundError(
        f"expected a data set (a CSV with the columns emotion and pixels, a list of pictures, a "
        f"zip or tar file), but {path} {_described(head)}; name another path"
    )


def _described(head: bytes) -> str:
    if not head:
        return "is empty"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is text in UTF-16 (save it as UTF-8)"
    if head.startswith((b"Rar!", b"7z\xbc\xaf", b"BZh", b"\xfd7zXZ")):
        return "is an archive of another kind (unpack it)"
    if head.startswith(PICTURE) or (head[:4], head[8:12]) == (b"RIFF", b"WEBP"):
        return "is a single picture (a data set is a folder of them)"
    line = head.split(b"\n", 1)[0][:60].decode("utf-8", "replace")
    return f"begins with {line!r}"


def _look_inside(archives: list[Path], kind: Kind, may_fail: bool) -> list[tuple[Rank, Path]]:
    """Return the best form of each archive; a damaged one counts only if it is all there is."""
    found: list[tuple[Rank, Path]] = []
    failed: list[UserError] = []
    for path in archives:
        try:
            with open_source(path, kind) as (_, forms):
                found.append((forms[0].rank, path))
        except NothingFoundError:
            continue
        except UserError as error:
            failed.append(error)
    if failed and not found and not may_fail:
        raise failed[0]
    return found
