"""Arrays of files that may be damaged or hostile: never more memory than was said beforehand."""

import io
import lzma
import math
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_ARRAYS = 64  # in one file


def read_npz(
    data: bytes, wanted: Callable[[str], bool], most_bytes: int
) -> dict[str, NDArray[Any]]:
    """Read arrays of an ``.npz`` file: no pickle, and no more than is there.

    ``numpy.load`` takes as much memory as an array's header says before it reads what is there.

    Args:
        data: the file.
        wanted: tells by its name which array to read.
        most_bytes: that the file may unpack to.

    Raises:
        ValueError: it is damaged, too large, or holds something else.

    >>> file = io.BytesIO()
    >>> np.savez(file, a=np.arange(3), b=np.ones(2))
    >>> read_npz(file.getvalue(), lambda name: name == "a", 1000)
    {'a': array([0, 1, 2])}
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            if len(members) > MOST_ARRAYS:
                raise ValueError(f"it holds {len(members):,} arrays")
            if size > most_bytes:
                raise ValueError(f"it unpacks to {size:,} bytes")
            by_name: Mapping[str, zipfile.ZipInfo] = {
                member.filename.removesuffix(".npy"): member for member in members
            }
            return {
                name: _array(name, _unpacked(archive, member))
                for name, member in by_name.items()
                if wanted(name)
            }
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ValueError(f"no npz file: {error}") from error
    except (zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"no npz file: {error}") from error


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    with archive.open(member) as file:
        return file.read(member.file_size + 1)


def _array(name: str, data: bytes) -> NDArray[Any]:
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"{name} is of an unknown version")
    reader = np.lib.format.read_array_header_1_0
    reader = reader if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, by_column, dtype = reader(file)
    except (SyntaxError, RecursionError, TypeError, MemoryError) as error:  # NumPy evaluates it
        raise ValueError(f"{name} has a damaged header") from error
    if dtype.hasobject:
        raise ValueError(f"{name} holds objects, which could execute code")
    body = memoryview(data)[file.tell() :]
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(body):
        raise ValueError(f"{name} does not hold what its header says")
    if not len(body):
        return np.zeros(shape, dtype)
    flat = np.frombuffer(body, dtype)
    return flat.reshape(shape[::-1]).T if by_column else flat.reshape(shape)
