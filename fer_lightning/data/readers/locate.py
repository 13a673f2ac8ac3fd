"""From the path a user gives to the one file or folder that holds the data set."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from fer_lightning.data.readers.archive import open_archive
from fer_lightning.data.readers.csv_header import is_fer_csv
from fer_lightning.data.readers.detect import (
    Form,
    Kind,
    NothingFoundError,
    Rank,
    find_archives,
    find_forms,
    nothing_found,
)
from fer_lightning.data.readers.listfile import is_list
from fer_lightning.data.readers.tree import FolderTree, Tree, unreadable
from fer_lightning.errors import UserError


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
    found = [(form.rank, _place(path, form)) for form in find_forms(tree, kind)]
    archives = [path / name for name in find_archives(tree)]
    if not found and len(archives) == 1:
        return Location(archives[0], ())
    if archives and (not found or found[0][0] > Rank.EXPRESSION_FOLDERS):
        found += _look_inside(archives, kind, bool(found))
        found.sort(key=lambda item: item[0])  # stable: open ones stay before packed ones
    else:
        found += [(Rank.FOLDERS, place) for place in archives]
    if not found:
        raise nothing_found(tree, kind)
    places = list(dict.fromkeys(place for _, place in found))
    return Location(places[0], tuple(_shown(place, path) for place in places[1:]))


@contextmanager
def open_source(path: Path, kind: Kind = "auto") -> Iterator[tuple[Tree, list[Form]]]:
    """Open a located file or folder together with the data sets in it, the preferred first."""
    tree = FolderTree(path) if path.is_dir() else open_archive(path)
    if tree is None:
        tree, forms = _single_file(path, kind)
    else:
        forms = find_forms(tree, kind)
    with tree:
        if not forms:
            raise nothing_found(tree, kind)
        yield tree, forms


def _single_file(path: Path, kind: Kind) -> tuple[Tree, list[Form]]:
    tree: Tree = FolderTree(path.parent, only=path.name)
    head = tree.head(path.name)
    if is_fer_csv(head):
        return tree, find_forms(tree, kind)
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
    line = head.split(b"\n", 1)[0][:60].decode("utf-8", "replace")
    return f"begins with {line!r}"


def _place(root: Path, form: Form) -> Path:
    return root if form.rank == Rank.LIST else root / PurePosixPath(form.where)


def _shown(place: Path, root: Path) -> str:
    return str(place.relative_to(root)) if place != root else str(root)


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
