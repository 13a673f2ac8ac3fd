"""The members of a tar file, gzipped or not, and single gzipped files, read as a stream."""

import gzip
import tarfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from fer_lightning.data.readers import limits
from fer_lightning.data.readers.bounded import Bounded, Gate, damage_told
from fer_lightning.data.readers.tree import Tree, is_image_name, is_junk

GZIP_MAGIC = b"\x1f\x8b"
_BLOCK = limits.MIB  # bytes read at once
_HEADER_TYPES = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file, gzipped or not, as a bounded stream of its unpacked bytes."""
    with path.open("rb") as raw:
        packed = raw.read(2) == GZIP_MAGIC
        raw.seek(0)
        file = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
        size = path.stat().st_size
        limit = limits.unpacked_limit(size) if packed else size
        yield cast(BinaryIO, Bounded(file, limit, path))


class _SmallHeaders(tarfile.TarInfo):
    """Refuses long names and extended headers of many bytes, which tarfile takes into memory."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADER_TYPES and self.size > limits.MAX_TAR_HEADER:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")
        return super()._proc_member(tar)  # type: ignore[misc]  # tarfile's hook for subclasses


class TarTree(Tree):
    """The members of a tar file; each use reads the file once from its start."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._heads: dict[str, bytes] = {}
        self._places: dict[str, int] = {}  # name → which member; the last of a name counts
        sizes: dict[str, int] = {}
        gate = Gate(path)
        with damage_told(path, ValueError):  # tarfile: numbers in extended headers
            for place, (tar, member) in enumerate(self._stream()):
                plain = member.isdir() or (member.isreg() and not member.issparse())
                name = gate.admit(member.name, member.size, plain)
                if member.isdir() or is_junk(name):
                    continue
                sizes[name], self._places[name] = member.size, place
                if not is_image_name(name) and len(self._heads) < limits.MAX_SNIFFED:
                    self._heads[name] = _content(tar, member).read(limits.HEAD)
        self.members = dict(sorted(sizes.items()))

    def head(self, name: str) -> bytes:
        """Return the first bytes of a member that is no picture, kept from the first pass."""
        return self._heads.get(name, b"")

    def read(self, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the members in the order in which they lie in the file."""
        wanted = {self._places[name]: name for name in names}
        with damage_told(self.path):
            for place, (tar, member) in enumerate(self._stream()):
                if place in wanted:
                    data = _content(tar, member).read(limits.MAX_IMAGE_FILE + 1)
                    yield wanted.pop(place), data
                if not wanted:
                    return

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a member as a stream."""
        with damage_told(self.path):
            for place, (tar, member) in enumerate(self._stream()):
                if place == self._places[name]:
                    yield _content(tar, member)
                    return

    def _stream(self) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
        with (
            unpacked(self.path) as file,
            tarfile.open(fileobj=file, mode="r|", bufsize=_BLOCK, tarinfo=_SmallHeaders) as tar,
        ):
            for member in tar:
                yield tar, member
                tar.members = []  # type: ignore[attr-defined]  # tarfile would keep every header


class GzipTree(Tree):
    """One gzipped file, such as ``fer2013.csv.gz``; its size stays unknown until it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.members = {path.stem: path.stat().st_size}

    def head(self, name: str) -> bytes:
        """Return the first unpacked bytes."""
        with self.open(name) as file:
            return file.read(limits.HEAD)

    def read(self, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the file if it is asked for."""
        for name in names:
            with self.open(name) as file:
                yield name, file.read(limits.MAX_IMAGE_FILE + 1)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open the file as a stream of its unpacked bytes."""
        with damage_told(self.path), unpacked(self.path) as file:
            yield file


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> BinaryIO:
    file = tar.extractfile(member)
    if file is None:  # only links and devices have no content; the gate has refused those
        raise tarfile.ReadError(f"{member.name!r} has no content")
    return cast(BinaryIO, file)
