"""t-SNE plots as SVG that can be read without a script, and the data that lets them answer.

Colour and shape of a mark tell the class, hollow a wrong answer. Faces stand together in one
picture, which a browser loads once and shows parts of.
"""

import base64
import io
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fer_lightning.data.labels import MOST_NAMED
from fer_lightning.errors import UserError
from fer_lightning.plots.style import CLASS_COLOURS, CLASS_MARKERS, GREY, check_lengths
from fer_lightning.report.content import Points, Scatter

SIDE, MARGIN = 320, 12  # units of the plot's own coordinates
LAYERS = 12  # classes are mixed from back to front, so that none covers all others
HEAT_COLOURS = 32
LARGEST = 96  # pixels: a face is shown at about this size
LOSSLESS = 2_000_000  # bytes: a larger sprite is written with loss
MAP_SIDE = 16  # cells of a heat map; models' grids are 3 to 14 wide

# One mark around the point where the pen stands, in units of the plot
SHAPES = {
    "^": "m0-4l4 7h-8z",
    "v": "m0 4l4-7h-8z",
    "s": "m-3-3h6v6h-6z",
    "o": "m-3.3 0a3.3 3.3 0 1 0 6.6 0a3.3 3.3 0 1 0-6.6 0z",
    "D": "m0-4l4 4l-4 4l-4-4z",
    "P": "m-1.3-3.9h2.6v2.6h2.6v2.6h-2.6v2.6h-2.6v-2.6h-2.6v-2.6h2.6z",
    "X": "m0-1.7l2-2l1.8 1.8l-2 2l2 2l-1.8 1.8l-2-2l-2 2l-1.8-1.8l2-2l-2-2l1.8-1.8z",
    "*": "m0-4.4l1.1 3.1l3.3 .1l-2.6 2l.9 3.2l-2.7-1.9l-2.7 1.9l.9-3.2l-2.6-2l3.3-.1z",
    "<": "m-4 0l7-4v8z",
    ">": "m4 0l-7-4v8z",
}


class Sprite(NamedTuple):
    """A picture of rows and columns of faces."""

    uri: str  # the picture itself, as ``data:image/...``
    width: int  # of one face, in pixels
    height: int  # of one face
    columns: int  # faces in a row


def scatter_view(scatter: Scatter) -> dict[str, Any]:
    """Lay out one plot per model, a legend that filters, and what the script has to know.

    Raises:
        UserError: arrays that do not have one entry for each image.

    >>> one = Points("cnn", np.zeros((1, 2)), *(np.zeros(1, int) for _ in range(3)), np.ones(1))
    >>> view = scatter_view(Scatter("t", "Faces.", ("cat",), (one,)))
    >>> view["plots"][0]["right"], view["data"]["models"][0]["x"]
    (1, [160.0])
    """
    for points in scatter.models:
        names = ("label", "xy", "row", "predicted", "confidence")
        check_lengths(**{name: getattr(points, name) for name in names})
        check_lengths(maps=points.maps, map_rows=points.map_rows)
    check_lengths(faces=scatter.faces, face_rows=scatter.face_rows)
    sprite = face_sprite(scatter.faces)
    return {
        "scatter": scatter,
        "side": SIDE,
        "legend": [(name, mark_of(i)) for i, name in enumerate(scatter.classes[:MOST_NAMED])],
        "unnamed": max(0, len(scatter.classes) - MOST_NAMED),
        "circle": (GREY, SHAPES["o"]),
        "plots": [
            {
                "name": points.name,
                "images": len(points.label),
                "right": int((points.label == points.predicted).sum()),
                "paths": list(_paths(points)),
            }
            for points in scatter.models
        ],
        "sprite": sprite,
        "data": {
            "classes": scatter.classes,
            "faces": _places(scatter.face_rows),
            "sprite": sprite and sprite[1:],
            "heat": _heat_colours(),
            "models": [_data(points) for points in scatter.models],
        },
    }


def mark_of(place: int) -> tuple[str, str]:
    """Colour and path of a class, as in the figures.

    >>> mark_of(3) == mark_of(13)
    True
    """
    shape = SHAPES[CLASS_MARKERS[place % len(CLASS_MARKERS)]]
    return CLASS_COLOURS[place % len(CLASS_COLOURS)], shape


def placed(xy: NDArray[np.floating]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Fit points into the plot, with one scale for both directions and y upwards.

    Returns:
        (N,) which points can be drawn, and the places of those, (n, 2).

    >>> placed(np.array([[0, 0], [2, 1], [np.nan, 0]]))[1].tolist()
    [[12.0, 234.0], [308.0, 86.0]]
    """
    keep = np.isfinite(xy).all(axis=1)
    points = xy[keep].astype(np.float64)
    if not len(points):
        return keep, points
    low, high = points.min(axis=0), points.max(axis=0)
    scale = (SIDE - 2 * MARGIN) / max((high - low).max(), 1e-9)
    return keep, SIDE / 2 + (points - (low + high) / 2) * scale * (1, -1)


def _paths(points: Points) -> Iterator[dict[str, Any]]:
    """Draw all points as few paths: one for each layer, class and kind of answer."""
    keep, xy = placed(points.xy)
    label, right = points.label[keep], (points.label == points.predicted)[keep]
    for layer in np.array_split(np.random.default_rng(0).permutation(len(xy)), LAYERS):
        for place in np.unique(label[layer]).tolist():
            colour, shape = mark_of(place)
            for answer in (True, False):
                chosen = xy[layer[(label[layer] == place) & (right[layer] == answer)]]
                if len(chosen):
                    d = "".join(f"M{x:.1f} {y:.1f}{shape}" for x, y in chosen)
                    yield {"place": place, "right": answer, "colour": colour, "d": d}


def _data(points: Points) -> dict[str, Any]:
    keep, xy = placed(points.xy)
    height, width, heat = heat_bytes(points.maps)
    return {
        "name": points.name,
        "x": xy[:, 0].round(1).tolist(),
        "y": xy[:, 1].round(1).tolist(),
        "row": points.row[keep].tolist(),
        "label": points.label[keep].tolist(),
        "predicted": points.predicted[keep].tolist(),
        "percent": (100 * np.nan_to_num(points.confidence[keep]).astype(float)).round(1).tolist(),
        "maps": {"places": _places(points.map_rows), "size": [height, width], "heat": heat},
    }


def _places(rows: np.ndarray) -> dict[str, int]:
    return {str(row): place for place, row in enumerate(rows.tolist())}


def _heat_colours() -> list[list[int]]:
    """Colours of heat from cold to hot; the colder, the more of the face is seen."""
    heat = np.linspace(0, 1, HEAT_COLOURS)
    colours = np.asarray(mpl.colormaps["inferno"](heat))  # the colours of the gallery's overlays
    colours[:, 3] = 0.7 * heat**0.7
    return (255 * colours).round().astype(int).tolist()


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
    """Pack heat maps as one byte per cell.

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
