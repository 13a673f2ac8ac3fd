"""Room for all pictures of a data set: in memory, or in a file that becomes the cache's.

A large array in a file needs no memory of its own: the system keeps as much of it as there is room
for, so that a data set may be larger than the memory. Without a folder to write to, or for small
arrays, it is memory.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.readers import limits
from fer_lightning.errors import UserError

LARGE = 64 * limits.MIB  # bytes; smaller arrays are in memory
NAMES = ("images.npy", "images-rgb.npy")  # the second where colours are met late
Folder = Callable[[], Path | None]  # makes a folder at its first call; None where none can be
_FOLDER: ContextVar[Folder] = ContextVar("folder", default=lambda: None)


@contextmanager
def room_in(folder: Folder) -> Iterator[None]:
    """Let `make_room` put large arrays into files of a folder, which is made when it is needed."""
    before = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(before)


def make_room(shape: tuple[int, ...], source: Path) -> NDArray[np.uint8]:
    """Return an array of bytes whose content is undefined.

    Args:
        shape: of the array.
        source: what it is for, for messages.

    Raises:
        UserError: neither memory nor the disk has room for it.

    >>> make_room((2, 1, 48, 48), Path("faces")).shape
    (2, 1, 48, 48)
    """
    needed = int(np.prod(shape, dtype=np.int64))
    folder = _FOLDER.get()() if needed >= LARGE else None
    if folder is not None:
        return _in_file(shape, needed, folder, source)
    if needed > limits.MAX_IN_MEMORY:
        raise UserError(
            f"expected pictures that fit into memory, but those in {source} would need "
            f"{needed / limits.GIB:.0f} GiB; give a smaller image_size, or a cache_dir that can be "
            "written, where they are then kept"
        )
    return np.empty(shape, np.uint8)


def _in_file(shape: tuple[int, ...], needed: int, folder: Path, source: Path) -> NDArray[np.uint8]:
    path = next(folder / name for name in NAMES if not (folder / name).exists())
    try:
        array = np.lib.format.open_memmap(path, "w+", np.uint8, shape)
        with path.open("r+b") as file:  # all of it now: a full disk would kill us later, unheard
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    except OSError as error:
        path.unlink(missing_ok=True)
        free = shutil.disk_usage(folder).free / limits.GIB
        raise UserError(
            f"expected room for {needed / limits.GIB:.1f} GiB of pictures of {source} but "
            f"{folder.parent} has {free:.1f} ({error.strerror or error}); give a smaller "
            "image_size or another cache_dir"
        ) from error
    return array


def whole_file(array: NDArray[np.uint8]) -> Path | None:
    """Return the file that holds exactly this array, as `make_room` made it."""
    name = getattr(array, "filename", None)
    if name is None or Path(name).parent != _FOLDER.get()() or not Path(name).is_file():
        return None
    stored = np.load(name, mmap_mode="r", allow_pickle=False)
    return Path(name) if stored.shape == array.shape else None
