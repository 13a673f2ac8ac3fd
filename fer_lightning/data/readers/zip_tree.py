"""The members of a zip file, read in place."""

import stat
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from fer_lightning.data.readers import limits
from fer_lightning.data.readers.bounded import Bounded, Gate, damage_told
from fer_lightning.data.readers.tree import Tree, is_junk
from fer_lightning.errors import UserError

_ENCRYPTED = 1  # bit of ZipInfo.flag_bits


class ZipTree(Tree):
    """The members of a zip file, refused as a whole if one of them is hostile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with damage_told(path, ValueError):  # zipfile: offsets before the file's start
            self._zip = zipfile.ZipFile(path)
        self._infos: dict[str, zipfile.ZipInfo] = {}
        gate = Gate(path)
        for info in self._zip.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)  # 0 when packed on Windows
            is_dir = info.filename.endswith("/")  # ZipInfo.is_dir fails on an empty name
            plain = is_dir or kind in (0, stat.S_IFREG)
            name = gate.admit(info.filename, info.file_size, plain)
            if not is_dir and not is_junk(name):
                self._infos[name] = _readable(info, path)
        self.members = {name: info.file_size for name, info in sorted(self._infos.items())}

    def head(self, name: str) -> bytes:
        """Return the first bytes of a member."""
        with self.open(name) as file:
            return file.read(limits.HEAD)

    def read(self, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the members in the order in which they lie in the file."""
        for name in sorted(names, key=lambda name: self._infos[name].header_offset):
            with self.open(name) as file:
                yield name, file.read(limits.MAX_IMAGE_FILE + 1)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a member as a stream that ends where its declared size does."""
        info = self._infos[name]
        with damage_told(self.path), self._zip.open(info) as file:
            yield cast(BinaryIO, Bounded(cast(BinaryIO, file), info.file_size, self.path))

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
