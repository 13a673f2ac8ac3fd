"""Which kind of archive a file is, told by its first bytes and never by its name."""

import tarfile
from pathlib import Path
from typing import Literal

from fer_lightning.data.readers.bounded import damage_told
from fer_lightning.data.readers.tar_tree import GZIP_MAGIC, GzipTree, TarTree, unpacked
from fer_lightning.data.readers.tree import Tree, unreadable
from fer_lightning.data.readers.zip_tree import ZipTree

_TAR_HEADER = 512  # bytes


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
        with damage_told(path), unpacked(path) as stream:
            return TarTree(path) if _is_tar(stream.read(_TAR_HEADER)) else GzipTree(path)
    if kind == "zip":
        return ZipTree(path)
    return TarTree(path) if kind == "tar" else None


def _is_tar(head: bytes) -> bool:
    """Tell whether these are a tar header: its checksum has to be right."""
    try:
        tarfile.TarInfo.frombuf(head[:_TAR_HEADER], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True
