"""Many picture files to one array: one size, one number of channels, damaged ones named."""

import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.readers import limits
from fer_lightning.data.readers.room import make_room
from fer_lightning.data.readers.trees import FolderTree, Tree, unreadable
from fer_lightning.errors import UserError

Pixels = NDArray[np.uint8]
# JPEG start-of-frame markers: C0..CF without DHT (C4), JPG (C8) and DAC (CC)
_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_SOS, _EOI = 0xDA, b"\xff\xd9"
# Markers with a length that may stand before the picture: tables, comments, application data. One
# without a length would let us read another place than libjpeg does, and another size.
_SEGMENTS = frozenset({0xC4, 0xCC, 0xDB, 0xDC, 0xDD, 0xFE, *range(0xE0, 0xF0)})
# width and height as OpenCV finds them: a comment ends with either kind of line break
_PNM = re.compile(rb"P[1-6]\s(?:\s|#[^\r\n]*[\r\n])*(\d{1,9})\s(?:\s|#[^\r\n]*[\r\n])*(\d{1,9})\s")
_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"  # the header must come first
# TIFF: width, height, bits, samples per pixel, width and height of a tile
_WIDTH, _HEIGHT, _BITS, _SAMPLES, _TILE_WIDTH, _TILE_HEIGHT = 256, 257, 258, 277, 322, 323
_MOST_BITS, _MOST_SAMPLES, _MOST_TAGS = 16, 4, 1000
_MOST_TILE = 1 << 20  # pixels; tiles are 128 or 256 wide


class BadPictureError(Exception):
    """A file that is no sound picture; its text is the reason, for a message with the file name."""


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Return (height, width) of a JPEG, PNG, BMP, PNM or TIFF file from its first bytes.

    Returns None when it is none of these, could be read in two ways, or ends before its picture
    does: OpenCV would fill the missing part of a cut-off JPEG with grey and say nothing. Pillow's
    headers would take five times as long, as much as decoding a small picture, and give no size of
    one that is too large.
    """
    try:
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
        if data.startswith(_PNG):
            return _png(data)
        if data.startswith(b"BM"):
            width, height = struct.unpack("<ii", data[18:26])
            return abs(height), width  # a negative height means: from top to bottom
        if data[:1] == b"P" and data[1:2] in b"123456":
            return _pnm(data)
        if data[:4] in (b"II*\0", b"MM\0*"):
            return _tiff(data)
    except struct.error:  # the file ends inside its header
        return None
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    size, position = None, 2
    while True:
        while data[position + 1 : position + 2] == b"\xff":  # markers may be padded
            position += 1
        ff, marker, length = struct.unpack(">BBH", data[position : position + 4])
        if ff != 0xFF or length < 2:
            return None
        if marker == _SOS:
            # inside the compressed data FF is always followed by 00 or a restart marker
            return size if data.find(_EOI, position) >= 0 else None
        if marker in _SOF and size is None:
            size = struct.unpack(">HH", data[position + 5 : position + 9])
        elif marker not in _SEGMENTS:  # also a second frame
            return None
        position += 2 + length


def _png(data: bytes) -> tuple[int, int] | None:
    width, height = struct.unpack(">II", data[16:24])
    position = 8
    while position + 12 <= len(data):
        length, kind = struct.unpack(">I4s", data[position : position + 8])
        if kind == b"IEND":
            return height, width
        position += 12 + length  # OpenCV takes room for a chunk of any length before it reads it
    return None


def _pnm(data: bytes) -> tuple[int, int] | None:
    found = _PNM.match(data[:1024])
    return (int(found[2]), int(found[1])) if found else None


def _tiff(data: bytes) -> tuple[int, int] | None:
    order = "<" if data[:2] == b"II" else ">"
    (directory,) = struct.unpack(order + "I", data[4:8])
    (count,) = struct.unpack(order + "H", data[directory : directory + 2])
    if count > _MOST_TAGS:
        return None
    known = (_WIDTH, _HEIGHT, _BITS, _SAMPLES, _TILE_WIDTH, _TILE_HEIGHT)
    found: dict[int, int] = {}
    for entry in range(directory + 2, directory + 2 + 12 * count, 12):
        tag, kind, values = struct.unpack(order + "HHI", data[entry : entry + 8])
        if tag not in known:
            continue
        if tag in found or kind not in (3, 4) or (values != 1 and tag != _BITS):
            return None  # another reader might take another number
        form = "H" if kind == 3 else "I"  # 16 or 32 bits, left-aligned
        place = entry + 8
        if values * struct.calcsize(form) > 4:  # bits of each sample, elsewhere in the file
            (place,) = struct.unpack(order + "I", data[place : place + 4])
        if not 1 <= values <= _MOST_SAMPLES:
            return None
        numbers = struct.unpack_from(order + form * values, data, place)
        found[tag] = max(numbers)
    height, width = found.get(_HEIGHT, 0), found.get(_WIDTH, 0)
    tile = found.get(_TILE_WIDTH, 0) * found.get(_TILE_HEIGHT, 0)
    if found.get(_BITS, 1) > _MOST_BITS or found.get(_SAMPLES, 1) > _MOST_SAMPLES:
        return None
    if tile > max(_MOST_TILE, 4 * height * width):  # OpenCV takes room for a whole tile
        return None
    return (height, width) if _WIDTH in found and _HEIGHT in found else None


def decode(data: bytes) -> NDArray[np.uint8]:
    """Decode a JPEG, PNG, BMP, PNM or TIFF file to (H, W) grey or (H, W, 3) RGB.

    Three equal channels are grey. Transparency is dropped, 16 bits become 8, a rotation noted by
    the camera is applied.

    Raises:
        BadPictureError: when it is damaged, too large or no picture.

    >>> decode(cv2.imencode(".png", np.full((2, 3, 3), 9, np.uint8))[1].tobytes())
    array([[9, 9, 9],
           [9, 9, 9]], dtype=uint8)
    """
    if len(data) > limits.MAX_IMAGE_FILE:
        raise BadPictureError(f"larger than {limits.MAX_IMAGE_FILE // limits.MIB} MiB")
    size = picture_size(data)
    if size is None:
        raise BadPictureError("not a whole JPEG, PNG, BMP, PNM or TIFF picture")
    if not 0 < size[0] * size[1] <= limits.MAX_PIXELS:
        most = limits.MAX_PIXELS
        raise BadPictureError(f"{size[1]}x{size[0]} pixels, expected 1 to {most:,} in all")
    try:
        decoded = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_ANYCOLOR)
    except cv2.error as error:
        raise BadPictureError(f"refused by OpenCV: {error.err}") from None
    if decoded is None:
        raise BadPictureError("damaged")
    picture = np.asarray(decoded, np.uint8)
    if picture.shape[:2] not in (size, size[::-1]):  # a camera may have been turned
        raise BadPictureError("damaged: its header and its content differ in size")
    if picture.ndim == 2:
        return picture
    blue, green, red = picture[..., 0], picture[..., 1], picture[..., 2]
    if (blue == green).all() and (green == red).all():
        return np.ascontiguousarray(green)
    return np.ascontiguousarray(picture[..., ::-1])


def resize(picture: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Bring a picture to size x size: by area when it shrinks, bilinear when it grows."""
    if picture.shape[:2] == (size, size):
        return picture
    shrinks = min(picture.shape[:2]) >= size
    method = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(picture, (size, size), interpolation=method), np.uint8)


def to_grey(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Turn RGB into luminance; a grey picture stays as it is."""
    if picture.ndim == 2:
        return picture
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8)


class Pictures(NamedTuple):
    """Decoded files."""

    images: NDArray[np.uint8]  # (n, C, H, W), C = 1 or 3
    kept: NDArray[np.int64]  # (n,) which of the asked-for names they are
    damaged: list[str]  # names that were left out
    native_sizes: set[tuple[int, int]]  # (height, width) that occurred before resizing
    all_grey: bool  # whether none had any colour


def read_pictures(
    tree: Tree,
    names: Sequence[str],
    *,
    image_size: int | None,
    colour: bool | None,
    on_corrupt: Literal["error", "skip"],
) -> Pictures:
    """Read and decode the named files, in the order of `names`, each once.

    Without `image_size` they must share one; `colour` None keeps colours if there are any.
    """
    place = {name: row for row, name in enumerate(names)}
    images: Pixels | None = None  # (N, C, H, W), made for the first picture
    there = np.zeros(len(names), bool)
    damaged: list[str] = []
    native: dict[tuple[int, int], str] = {}  # size → the first file that has it
    all_grey = True
    for name, data in tree.read(names):
        try:
            picture = decode(data)
        except BadPictureError as reason:
            damaged.append(name)
            if on_corrupt == "error":
                raise UserError(
                    f"expected a sound picture, but {name} in {tree.path} is not ({reason}); "
                    "replace it, or leave such files out with on_corrupt='skip'"
                ) from None
            continue
        native.setdefault((picture.shape[0], picture.shape[1]), name)
        all_grey &= picture.ndim == 2
        picture = to_grey(picture) if colour is False else picture
        picture = picture if image_size is None else resize(picture, image_size)
        _check_one_size(native, image_size, tree)
        channels = 3 if colour or picture.ndim == 3 else 1
        if images is None or images.shape[1] < channels:
            room = make_room((len(names), channels, *picture.shape[:2]), tree.path)
            if images is not None:  # the first with a colour, after grey ones
                for done in np.flatnonzero(there).tolist():
                    room[done] = images[done]
            images = room
        row = place[name]
        images[row] = picture if picture.ndim == 2 else picture.transpose(2, 0, 1)
        there[row] = True
    if images is None:
        raise UserError(f"expected pictures, but all {len(names)} in {tree.path} are damaged")
    kept = np.flatnonzero(there)
    if damaged:  # those behind a gap move up, one by one: a copy of all would take twice the room
        for after, before in enumerate(kept.tolist()):
            images[after] = images[before]
        images = images[: len(kept)]
    return Pictures(images, kept, sorted(damaged), set(native), all_grey)


def conform(
    images: NDArray[np.uint8], image_size: int | None, colour: bool | None
) -> NDArray[np.uint8]:
    """Bring square images, (N, 1 or 3, S, S), to the asked-for size and channels."""
    channels, size = images.shape[1:3]
    make_grey = colour is False and channels == 3
    if make_grey or image_size not in (None, size):
        pictures = [np.ascontiguousarray(np.squeeze(i.transpose(1, 2, 0))) for i in images]
        pictures = [to_grey(picture) if make_grey else picture for picture in pictures]
        stack = np.stack([resize(picture, image_size or size) for picture in pictures])
        images = stack[:, None] if stack.ndim == 3 else stack.transpose(0, 3, 1, 2)
    images = np.repeat(images, 3, axis=1) if colour and channels == 1 else images
    return np.ascontiguousarray(images)


def _check_one_size(native: dict[tuple[int, int], str], image_size: int | None, tree: Tree) -> None:
    if image_size is None and len(native) > 1:
        (one, two) = native
        raise UserError(
            f"expected pictures of one size, but in {tree.path} {native[one]} has "
            f"{one[1]}x{one[0]} pixels and {native[two]} has {two[1]}x{two[0]}; give image_size"
        )


# --- Any pictures a user has, made into what a model takes and what an overlay is drawn on


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
        seen = as_input(square, channels, size)
        yield Picture(name, seen, resize(square, shown), width, height, (left, top, side))


def as_input(square: Pixels, channels: int, size: int) -> Pixels:
    """Bring a square picture to a model's channels, 1 or 3, and size: (C, size, size)."""
    pixels = resize(to_grey(square) if channels == 1 else square, size)
    if pixels.ndim == 2:
        return np.repeat(pixels[None], channels, axis=0)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))
