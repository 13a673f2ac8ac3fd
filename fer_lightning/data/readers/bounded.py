"""Guards around archives: what they declare, what they really deliver, and how they break."""

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fer_lightning.data.readers import limits
from fer_lightning.data.readers.tree import safe_name
from fer_lightning.errors import UserError

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


class Bounded(io.RawIOBase):
    """A stream that refuses to deliver more than `limit` bytes.

    >>> Bounded(io.BytesIO(b"abc"), 3, Path("a.gz")).read(10)
    b'abc'
    """

    def __init__(self, file: BinaryIO, limit: int, path: Path) -> None:
        self._file = file
        self._left = limit
        self._path = path

    def readable(self) -> bool:
        """Say that this is a stream to read from."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes; with -1 as much as the limit allows."""
        data = self._file.read(size if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise bomb(self._path)
        return data


class Gate:
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
            raise bomb(self._path)
        if self._count > limits.MAX_MEMBERS:
            raise UserError(
                f"expected at most {limits.MAX_MEMBERS:,} files in an archive, but {self._path} "
                "has more; unpack it yourself if you trust it"
            )
        return clean


def bomb(path: Path) -> UserError:
    """Say that an archive unpacks to more than it may."""
    limit = limits.unpacked_limit(path.stat().st_size) / limits.MIB
    return UserError(
        f"expected an archive that unpacks to at most {limit:,.0f} MiB, but {path} holds more; "
        "unpack it yourself if you trust it"
    )


@contextmanager
def damage_told(path: Path, *also: type[Exception]) -> Iterator[None]:
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
