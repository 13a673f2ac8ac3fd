"""Any pictures a user has, made into what a model takes and what an overlay is drawn on."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.readers.pictures import BadPictureError, decode, resize, to_grey
from fer_lightning.data.readers.trees import FolderTree, unreadable
from fer_lightning.errors import UserError

Pixels = NDArray[np.uint8]
MOST = 10_000  # pictures at once
MOST_SIDE = 4096  # pixels of a model's input
MIN_SIDE = 8  # pixels of the shorter side; below it no face can be seen
HOW = (
    "pictures are cut to the square in their middle (crop_x, crop_y, crop_side, in pixels of the "
    "file), then scaled to the model's size: by area when they shrink, bilinearly when they grow; "
    "transparency is dropped, 16 bits become 8, a rotation noted by the camera is applied"
)


class Picture(NamedTuple):
    """A picture that was read."""

    name: str  # its path inside the folder
    seen: Pixels  # (C, H, W) as the model takes it
    shown: Pixels  # (S, S) grey or (S, S, 3) RGB, the same square at the size of an overlay
    width: int  # of the whole picture, in pixels
    height: int
    crop: tuple[int, int, int]  # left, top and side of the square, in pixels of the whole picture


class Skipped(NamedTuple):
    """A file that is no picture, and why."""

    name: str
    reason: str


def list_pictures(path: Path, leave_out: Path | None = None) -> tuple[FolderTree, list[str]]:
    """List what may be pictures: a file, or all files below a folder but hidden ones, sorted."""
    try:
        is_there, is_file, is_dir = path.exists(), path.is_file(), path.is_dir()
    except OSError as error:
        raise unreadable(path, error) from None
    if not is_there:
        raise UserError(f"expected pictures at {path} but there is nothing; check the path")
    if is_file:
        return FolderTree(path.parent, only=path.name), [path.name]
    if not is_dir:
        raise UserError(f"expected a picture or a folder but {path} is neither; name another path")
    tree = FolderTree(path)
    names = list(tree.members)
    if leave_out is not None and leave_out.resolve().is_relative_to(path.resolve()):
        below = leave_out.resolve().relative_to(path.resolve()).as_posix() + "/"
        names = [name for name in names if not name.startswith(below)]
    if not names:
        raise UserError(f"expected pictures in {path} but the folder is empty; name another one")
    if len(names) > MOST:
        raise UserError(
            f"expected at most {MOST:,} pictures but {path} holds {len(names):,} files; "
            "name a folder with fewer"
        )
    return tree, names


def read_each(
    tree: FolderTree, names: Iterable[str], channels: int, size: int, shown: int
) -> Iterator[Picture | Skipped]:
    """Read files one by one, whatever their endings say.

    `channels` and `size`, in pixels, are those of the model's input; `shown` is the side of the
    square to draw on.
    """
    if channels not in (1, 3) or size > MOST_SIDE:
        raise UserError(
            f"expected a model of 1 or 3 channels and at most {MOST_SIDE} pixels a side but got "
            f"one of {channels} and {size}; use another checkpoint"
        )
    for name in names:
        try:
            ((_, data),) = tree.read([name])
            pixels = decode(data)
        except (BadPictureError, UserError) as reason:
            yield Skipped(name, str(reason))
            continue
        except OSError as error:  # of the disk
            yield Skipped(name, error.strerror or "cannot be read")
            continue
        height, width = pixels.shape[:2]
        if min(height, width) < MIN_SIDE:
            yield Skipped(name, f"{width}x{height} pixels, expected at least {MIN_SIDE} a side")
            continue
        side = min(height, width)
        left, top = (width - side) // 2, (height - side) // 2
        # cut, and neither stretched nor padded: no face to train on was stretched or had black bars
        square = pixels[top : top + side, left : left + side]
        seen = _as_input(square, channels, size)
        yield Picture(name, seen, resize(square, shown), width, height, (left, top, side))


def _as_input(square: Pixels, channels: int, size: int) -> Pixels:
    """Bring a square picture to a model's channels, 1 or 3, and size: (C, size, size)."""
    pixels = resize(to_grey(square) if channels == 1 else square, size)
    if pixels.ndim == 2:
        return np.repeat(pixels[None], channels, axis=0)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))
