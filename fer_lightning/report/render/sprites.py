"""Many small pictures as one, inside the page: a browser loads it once and shows parts of it."""

import base64
import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fer_lightning.errors import UserError

LARGEST = 96  # pixels: a face is shown at about this size
LOSSLESS = 2_000_000  # bytes: a larger sprite is written with loss
MAP_SIDE = 16  # cells of a heat map; models' grids are 3 to 14 wide


@dataclass(frozen=True)
class Sprite:
    """A picture of rows and columns of faces.

    Args:
        uri: the picture itself, as ``data:image/...``.
        width: of one face, in pixels.
        height: of one face.
        columns: faces in a row.
    """

    uri: str
    width: int
    height: int
    columns: int


def data_uri(content: bytes, kind: str) -> str:
    """Write a file as an address.

    >>> data_uri(b"abc", "image/png")
    'data:image/png;base64,YWJj'
    """
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def face_sprite(faces: NDArray[np.uint8]) -> Sprite | None:
    """Lay faces out in a square, row by row.

    Args:
        faces: (F, H, W) grey or (F, H, W, 3) colours; large ones are made smaller.

    Returns:
        PNG, or WebP when that would be large; None without faces.

    Raises:
        UserError: an array of another shape or kind.

    >>> sprite = face_sprite(np.zeros((5, 48, 40), np.uint8))
    >>> sprite.columns, sprite.width, sprite.height
    (3, 40, 48)
    """
    if faces.dtype != np.uint8 or not (faces.ndim == 3 or faces.shape[3:] == (3,)):
        raise UserError(
            f"expected faces as uint8 of shape (F, H, W) or (F, H, W, 3) but got {faces.dtype} of "
            f"shape {faces.shape}; give grey levels or colours from 0 to 255"
        )
    if not faces.size:
        return None
    faces = _smaller(faces)
    count, height, width = faces.shape[:3]
    columns = math.ceil(math.sqrt(count))
    rows = math.ceil(count / columns)
    room = np.zeros((rows * columns, *faces.shape[1:]), np.uint8)
    room[:count] = faces
    grid = room.reshape(rows, columns, *faces.shape[1:]).swapaxes(1, 2)
    picture = Image.fromarray(grid.reshape(rows * height, columns * width, *faces.shape[3:]))
    return Sprite(_encoded(picture), width, height, columns)


def heat_bytes(maps: NDArray[np.floating[Any]]) -> tuple[int, int, str]:
    """Pack heat maps as one byte a cell.

    Args:
        maps: (M, h, w) from 0 to 1; NaN counts as cold, maps finer than 16 cells are averaged.

    Returns:
        Height, width and all cells in base64.

    >>> heat_bytes(np.array([[[0.0, 1.0]]]))
    (1, 2, 'AP8=')
    """
    count, height, width = maps.shape
    h, w = min(height, MAP_SIDE), min(width, MAP_SIDE)
    levels = np.nan_to_num(np.asarray(maps, np.float32)).clip(0, 1)
    if (h, w) != (height, width):
        levels = np.array(
            [Image.fromarray(one).resize((w, h), Image.Resampling.BOX) for one in levels]
        ).reshape(count, h, w)
    return h, w, base64.b64encode(np.round(levels * 255).astype(np.uint8).tobytes()).decode("ascii")


def _smaller(faces: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width = faces.shape[1:3]
    if max(height, width) <= LARGEST:
        return faces
    scale = LARGEST / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    how = Image.Resampling.LANCZOS
    return np.stack([np.asarray(Image.fromarray(face).resize(size, how)) for face in faces])


def _encoded(picture: Image.Image) -> str:
    file = io.BytesIO()
    picture.save(file, "PNG")
    if file.tell() <= LOSSLESS:
        return data_uri(file.getvalue(), "image/png")
    file = io.BytesIO()
    picture.save(file, "WEBP", quality=80, method=2)
    return data_uri(file.getvalue(), "image/webp")
