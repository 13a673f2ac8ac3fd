"""Zip, tar and gzip files as trees of members: bounded, and read without unpacking to disk."""

import gzip
import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, cast

from fer_lightning.data.readers import limits
from fer_lightning.data.readers.trees import Tree, is_image_name, is_junk, safe_name, unreadable
from fer_lightning.errors import UserError

GZIP_MAGIC = b"\x1f\x8b"
_TAR_HEADER = 512  # bytes
_BLOCK = limits.MIB  # bytes read at once
_ENCRYPTED = 1  # bit of ZipInfo.flag_bits
_HEADER_TYPES = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_DAMAGE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,  # zipfile: a feature of the format it does not know
    struct.error,
    OverflowError,
    RecursionError,  # tarfile: a thousand extended headers in a row
)


class _Bounded(io.RawIOBase):
    """A stream that refuses to deliver more than `limit` bytes."""

    def __init__(self, file: BinaryIO, limit: int, path: Path) -> None:
        self._file = file
        self._left = limit
        self._path = path

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise _bomb(self._path)
        return data


class _Gate:
    """Lets an archive's members in one by one while they are few, small, plain and inside it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = limits.unpacked_limit(path.stat().st_size)
        self._count = 0

    def admit(self, name: str, size: int, plain: bool) -> str:
        """Return a member's cleaned name, or refuse the archive because of it."""
        clean = safe_name(name, self._path)
        if not plain:
            raise UserError(
                f"expected an archive of plain files, but {name!r} in {self._path} is a link or a "
                "device; unpack it yourself if you trust it"
            )
        self._left -= size
        self._count += 1
        if self._left < 0:
            raise _bomb(self._path)
        if self._count > limits.MAX_MEMBERS:
            raise UserError(
                f"expected at most {limits.MAX_MEMBERS:,} files in an archive, but {self._path} "
                "has more; unpack it yourself if you trust it"
            )
        return clean


def _bomb(path: Path) -> UserError:
    limit = limits.unpacked_limit(path.stat().st_size) / limits.MIB
    return UserError(
        f"expected an archive that unpacks to at most {limit:,.0f} MiB, but {path} holds more; "
        "unpack it yourself if you trust it"
    )


@contextmanager
def _explain_damage(path: Path, *also: type[Exception]) -> Iterator[None]:
    """Turn what the standard library raises on a damaged archive into one sentence."""
    try:
        yield
    except UserError:
        raise
    except (*_DAMAGE, *also) as error:
        raise UserError(
            f"expected a sound archive, but {path} is damaged or cut off ({error}); "
            "download or pack it again"
        ) from error


@contextmanager
def _unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file, gzipped or not, as a bounded stream of its unpacked bytes."""
    with path.open("rb") as raw:
        packed = raw.read(2) == GZIP_MAGIC
        raw.seek(0)
        file = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
        size = path.stat().st_size
        limit = limits.unpacked_limit(size) if packed else size
        yield cast(BinaryIO, _Bounded(file, limit, path))


class _SmallHeaders(tarfile.TarInfo):
    """Refuses long names and extended headers of many bytes, which tarfile takes into memory."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADER_TYPES and self.size > limits.MAX_TAR_HEADER:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")
        return super()._proc_member(tar)  # type: ignore[misc]  # tarfile's hook for subclasses


class _TarTree(Tree):
    """The members of a tar file; each use reads the file once from its start."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._heads: dict[str, bytes] = {}
        self._places: dict[str, int] = {}  # name → which member; the last of a name counts
        sizes: dict[str, int] = {}
        gate = _Gate(path)
        with _explain_damage(path, ValueError):  # tarfile: numbers in extended headers
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
        with _explain_damage(self.path):
            for place, (tar, member) in enumerate(self._stream()):
                if place in wanted:
                    data = _content(tar, member).read(limits.MAX_IMAGE_FILE + 1)
                    yield wanted.pop(place), data
                if not wanted:
                    return

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a member as a stream."""
        with _explain_damage(self.path):
            for place, (tar, member) in enumerate(self._stream()):
                if place == self._places[name]:
                    yield _content(tar, member)
                    return

    def _stream(self) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
        with (
            _unpacked(self.path) as file,
            tarfile.open(fileobj=file, mode="r|", bufsize=_BLOCK, tarinfo=_SmallHeaders) as tar,
        ):
            for member in tar:
                yield tar, member
                tar.members = []  # type: ignore[attr-defined]  # tarfile would keep every header


class _GzipTree(Tree):
    """One gzipped file, such as ``fer2013.csv.gz``; its size stays unknown until it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.members = {path.stem: path.stat().st_size}

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open the file as a stream of its unpacked bytes."""
        with _explain_damage(self.path), _unpacked(self.path) as file:
            yield file


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> BinaryIO:
    file = tar.extractfile(member)
    if file is None:  # only links and devices have no content; the gate has refused those
        raise tarfile.ReadError(f"{member.name!r} has no content")
    return cast(BinaryIO, file)


class _ZipTree(Tree):
    """The members of a zip file, refused as a whole if one of them is hostile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _explain_damage(path, ValueError):  # zipfile: offsets before the file's start
            self._zip = zipfile.ZipFile(path)
        self._infos: dict[str, zipfile.ZipInfo] = {}
        gate = _Gate(path)
        for info in self._zip.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)  # 0 when packed on Windows
            is_dir = info.filename.endswith("/")  # ZipInfo.is_dir fails on an empty name
            plain = is_dir or kind in (0, stat.S_IFREG)
            name = gate.admit(info.filename, info.file_size, plain)
            if not is_dir and not is_junk(name):
                self._infos[name] = _readable(info, path)
        self.members = {name: info.file_size for name, info in sorted(self._infos.items())}

    def read(self, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the members in the order in which they lie in the file."""
        return super().read(sorted(names, key=lambda name: self._infos[name].header_offset))

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a member as a stream that ends where its declared size does."""
        info = self._infos[name]
        with _explain_damage(self.path), self._zip.open(info) as file:
            yield cast(BinaryIO, _Bounded(cast(BinaryIO, file), info.file_size, self.path))

    def close(self) -> None:
        """Close the zip file."""
        self._zip.close()


def _readable(info: zipfile.ZipInfo, path: Path) -> zipfile.ZipInfo:
    """Refuse passwords and rare ways of packing, whose unpacking is not bounded."""
    if info.flag_bits & _ENCRYPTED:
        raise UserError(f"expected a zip file without password, but {path} has one; unpack it")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UserError(
            f"expected a zip file of stored or deflated members, but {info.filename!r} in {path} "
            "is packed in another way; unpack it"
        )
    return info


def sniff(head: bytes) -> Literal["zip", "gzip", "tar"] | None:
    r"""Tell an archive by its first 512 bytes.

    >>> sniff(b"PK\x03\x04..."), sniff(b"\x1f\x8b\x08"), sniff(b"emotion,pixels")
    ('zip', 'gzip', None)
    """
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if head.startswith(GZIP_MAGIC):
        return "gzip"
    return "tar" if _is_tar(head) else None


def open_archive(path: Path) -> Tree | None:
    """Open an archive whose members have been checked, or return None if it is no archive."""
    try:
        with path.open("rb") as file:
            kind = sniff(file.read(_TAR_HEADER))
    except OSError as error:
        raise unreadable(path, error) from None
    if kind == "gzip":
        with _explain_damage(path), _unpacked(path) as stream:
            return _TarTree(path) if _is_tar(stream.read(_TAR_HEADER)) else _GzipTree(path)
    if kind == "zip":
        return _ZipTree(path)
    return _TarTree(path) if kind == "tar" else None


def _is_tar(head: bytes) -> bool:
    """Tell whether these are a tar header: its checksum has to be right."""
    try:
        tarfile.TarInfo.frombuf(head[:_TAR_HEADER], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True
