"""Named files of a source, whether they lie in a folder or inside an archive."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Self

from fer_lightning.data.readers import limits
from fer_lightning.errors import UserError, visible

_PICTURES = (".jpg", ".jpeg", ".jpe", ".png", ".bmp", ".pgm", ".ppm", ".pnm", ".tif", ".tiff")
_JUNK = frozenset(("__macosx", "thumbs.db", "desktop.ini"))


def is_image_name(name: str) -> bool:
    """Tell by its ending whether a file is meant to be a picture."""
    return name.lower().endswith(_PICTURES)


def is_junk(name: str) -> bool:
    """Tell whether a path is what operating systems leave behind, not data.

    >>> is_junk("__MACOSX/train/._1.jpg"), is_junk("a/.DS_Store"), is_junk("a/b.jpg")
    (True, True, False)
    """
    return not name or any(
        part.startswith(".") or part.lower() in _JUNK for part in name.split("/")
    )


def safe_name(name: str, where: Path) -> str:
    r"""Return an archive member's name with forward slashes, or refuse one that points outside.

    >>> safe_name("./train\\sad/1.jpg", Path("a.zip"))
    'train/sad/1.jpg'
    """
    path = name.replace("\\", "/")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or re.match("[a-zA-Z]:", path) or "\0" in path:
        raise UserError(
            f"expected an archive whose members stay inside it, but {where} contains {name!r}, "
            "which points outside; do not use this file"
        )
    return "/".join(parts)


class Tree(ABC):
    """The files of one source; close it, or use it in a ``with`` statement.

    Attributes:
        path: the folder or archive on disk.
        members: size in bytes of each file by its path inside the source, junk left out.
    """

    path: Path
    members: dict[str, int]

    @abstractmethod
    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open one file as a stream of bytes."""

    def head(self, name: str) -> bytes:
        """Return the first bytes of a file that is no picture."""
        with self.open(name) as file:
            return file.read(limits.HEAD)

    def read(self, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each named file once with its bytes, bounded, in the order fastest to read."""
        for name in names:
            most = min(self.members[name], limits.MAX_IMAGE_FILE) + 1  # room is taken for all of it
            with self.open(name) as file:
                yield name, file.read(most)

    def close(self) -> None:  # noqa: B027  # a folder has nothing to close
        """Let go of the archive."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FolderTree(Tree):
    """The files below a folder, links followed; `only` narrows it to one file of the folder."""

    def __init__(self, path: Path, only: str | None = None) -> None:
        self.path = path
        files = _walk(path) if only is None else [(only, (path / only).stat())]
        status = dict(sorted(files))
        self.members = {name: value.st_size for name, value in status.items()}
        self.modified = {name: value.st_mtime_ns for name, value in status.items()}

    def open(self, name: str) -> BinaryIO:
        """Open one file, with a plain message when that is not allowed."""
        try:
            return (self.path / name).open("rb")
        except OSError as error:
            raise unreadable(self.path / name, error) from None


def unreadable(path: Path, error: OSError) -> UserError:
    """Say that the operating system does not let us read something."""
    return UserError(
        f"expected something readable at {path}, but got {error.strerror or error!r}; "
        "check the path and its permissions"
    )


def _is_text(name: str) -> bool:
    """Tell whether a name of the file system can be written to a text file."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _walk(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield all files below a folder; a folder linked into itself is not entered again."""
    count = 0
    todo: list[tuple[Path, str, frozenset[tuple[int, int]]]] = [(root, "", frozenset())]
    while todo:
        folder, prefix, above = todo.pop()
        try:
            status = folder.stat()
            entries = list(os.scandir(folder))
        except OSError as error:
            raise unreadable(folder, error) from None
        here = (status.st_dev, status.st_ino)
        if here in above:
            continue
        for entry in entries:
            if is_junk(entry.name):
                continue
            try:
                is_dir, is_file = entry.is_dir(), entry.is_file()
            except OSError as error:  # such as a link to itself
                raise unreadable(folder / entry.name, error) from None
            if not entry.name.isascii() and not _is_text(entry.name):
                raise UserError(
                    f"expected names in UTF-8 but {folder} holds {visible(entry.name)}; rename it"
                )
            if is_dir:
                todo.append((folder / entry.name, f"{prefix}{entry.name}/", above | {here}))
            elif is_file:
                count += 1
                if count > limits.MAX_MEMBERS:
                    raise UserError(
                        f"expected a data set's folder, but {root} holds more than "
                        f"{limits.MAX_MEMBERS:,} files; name the folder that holds the data"
                    )
                yield prefix + entry.name, entry.stat()
