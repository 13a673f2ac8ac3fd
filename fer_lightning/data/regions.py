"""Regions: which parts of a picture have a name, and which of them belong together.

Tables, curves, log keys, figures and verdicts take their regions from the data set's `Regions`, by
name. `FACE` is the scheme of faces; other data bring their own (`read_scheme`) or have none, and
then no focus number is made up for them.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fer_lightning.errors import UserError, nearest

Masks = NDArray[np.bool_]
MOST = 32  # regions of one data set
RESERVED = ("background", "mean")  # words that tables use for something else


@dataclass(frozen=True)
class Regions:
    """The named regions of a data set's pictures.

    Args:
        subject: what the pictures show, for sentences: "face".
        parts: regions with masks of their own, in the order of tables.
        unions: names of several parts together.
        primary: the part or union that verdicts and the hiding test speak of.
        outside: the whole object; what lies outside of it is background. None if nothing is.
        titles: names for readers, where they differ from the names.

    >>> FACE.rows, FACE.primary, FACE.outside
    (('eyes', 'mouth', 'eyebrow', 'nose', 'key', 'all'), 'key', 'face')
    >>> FACE.members("key"), FACE.members("nose")
    (('eyes', 'mouth', 'eyebrow'), ('nose',))
    """

    subject: str
    parts: tuple[str, ...]
    unions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    primary: str = ""
    outside: str | None = None
    titles: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [*self.parts, *self.unions, *([self.outside] if self.outside else [])]
        if not self.parts or len(names) > MOST or len(set(names)) < len(names):
            raise UserError(
                f"expected 1 to {MOST} different names of regions but got {', '.join(names)}; "
                "name each region once"
            )
        for name in names:
            good = name.replace("_", "").replace("-", "").isalnum() and name not in RESERVED
            if not good or len(name) > 40:
                raise UserError(
                    f"expected a region's name of letters, digits, - and _ but got {name[:40]!r}; "
                    f"rename it (not {' or '.join(RESERVED)})"
                )
        for word in [self.primary, *(part for parts in self.unions.values() for part in parts)]:
            known = self.rows if word == self.primary else self.parts
            if word not in known:
                raise UserError(f"expected a region but got '{word}'; {nearest(word, known)}")

    @property
    def rows(self) -> tuple[str, ...]:
        """What tables have a row for: parts, then unions."""
        return (*self.parts, *self.unions)

    @property
    def order(self) -> tuple[str, ...]:
        """The second axis of masks, (N, R, H, W): the rows, then the outside."""
        return (*self.rows, *([self.outside] if self.outside else []))

    @property
    def base(self) -> tuple[str, ...]:
        """What needs a mask of its own: parts and outside."""
        return (*self.parts, *([self.outside] if self.outside else []))

    def members(self, name: str) -> tuple[str, ...]:
        """The parts of a union, or the part itself."""
        return self.unions.get(name, (name,))

    def row(self, name: str) -> int:
        """The place of a region among `rows`."""
        return self.rows.index(name)

    def title(self, name: str) -> str:
        """The name for readers: EYES, or what `titles` says."""
        return self.titles.get(name, name.upper())

    def stack(self, masks: Mapping[str, Masks]) -> Masks:
        """Put masks of the `base` regions, (..., H, W) each, in `order`: (..., R, H, W)."""
        unions = [
            np.logical_or.reduce([masks[part] for part in parts]) for parts in self.unions.values()
        ]
        outside = [masks[self.outside]] if self.outside else []
        return np.stack([*(masks[part] for part in self.parts), *unions, *outside], axis=-3)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, which `from_dict` reads."""
        return {
            "subject": self.subject,
            "parts": list(self.parts),
            "unions": {name: list(parts) for name, parts in self.unions.items()},
            "primary": self.primary,
            "outside": self.outside,
            "titles": dict(self.titles),
        }

    @staticmethod
    def from_dict(values: object) -> "Regions":
        """Read what `to_dict` wrote, or a file of a user's.

        Raises:
            UserError: it is no such mapping.

        >>> Regions.from_dict(FACE.to_dict()) == FACE
        True
        """
        match values:
            case {"parts": [*parts], "primary": str(primary), **others} if all(
                isinstance(part, str) for part in parts
            ):
                unions, titles = others.get("unions") or {}, others.get("titles") or {}
                outside = others.get("outside")
                if isinstance(unions, dict) and isinstance(titles, dict):
                    return Regions(
                        str(others.get("subject") or "picture")[:60],
                        tuple(parts),
                        {str(name): tuple(map(str, some)) for name, some in unions.items()},
                        primary,
                        None if outside is None else str(outside),
                        {str(name): str(title)[:60] for name, title in titles.items()},
                    )
        raise UserError(
            f"expected regions with parts and a primary one but got {values!r:.80}; "
            "see fer_lightning.data.regions"
        )


FACE = Regions(
    subject="face",
    parts=("eyes", "mouth", "eyebrow", "nose"),  # the order of the paper's table
    unions={"key": ("eyes", "mouth", "eyebrow"), "all": ("eyes", "mouth", "eyebrow", "nose")},
    primary="key",
    outside="face",
)


_MOVED = ("MaskSource", "image_key", "masks_for", "refuse_empty", "template")
_OF_A_FACE = {"REGIONS": FACE.parts, "ORDER": FACE.order, "BASE": FACE.base, "ALL": FACE.parts}


def __getattr__(name: str) -> Any:
    """Names of before: masks are in `fer_lightning.data.masks`, the face's regions in `FACE`."""
    if name not in (*_MOVED, *_OF_A_FACE, "KEY"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    place = "fer_lightning.data.masks" if name in _MOVED else "fer_lightning.data.regions.FACE"
    warnings.warn(f"{__name__}.{name} is now in {place}", FutureWarning, stacklevel=2)
    if name in _MOVED:
        return getattr(import_module(place), name)
    return FACE.members("key") if name == "KEY" else _OF_A_FACE[name]


# --- Outlines of face regions, and the pixels they cover


@dataclass(frozen=True)
class Outline:
    """A polygon or an open line in pixel coordinates: x to the right, y down.

    Args:
        points: (P, 2) x and y; pixel k covers k to k + 1.
        closed: whether the inside belongs to it.
        grow: pixels within this distance of the line belong to it too.
    """

    points: NDArray[np.float64]
    closed: bool = True
    grow: float = 0.0

    def scaled(self, x: float, y: float) -> "Outline":
        """Stretch by factors in x and y, for another image size."""
        return Outline(self.points * [x, y], self.closed, self.grow * (x * y) ** 0.5)


def rasterise(outlines: list[Outline], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Find the pixels whose centres lie in any of the outlines.

    Args:
        outlines: outlines in pixels of the image.
        size: height and width of the image.

    Returns:
        (H, W) mask.

    >>> square = Outline(np.array([[1.0, 1.0], [3.0, 1.0], [3.0, 3.0], [1.0, 3.0]]))
    >>> rasterise([square], (4, 4)).astype(int).tolist()
    [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    """
    mask = np.zeros(size, bool)
    for one in outlines:
        mask |= rasterise_many(one.points[None], size, one.closed, np.array([one.grow]))[0]
    return mask


def rasterise_many(
    points: NDArray[np.float64],
    size: tuple[int, int],
    closed: bool = True,
    grow: NDArray[np.float64] | None = None,
) -> NDArray[np.bool_]:
    """Find the pixels of many outlines of the same kind at once, row by row of the picture.

    A row of pixel centres meets an edge in one point, and what is near an edge in one interval, so
    the work grows with the height of the picture and not with its area.

    Args:
        points: (N, P, 2) x and y.
        size: height and width.
        closed: whether the inside (even-odd rule) belongs to them.
        grow: (N,) distances within which pixels belong to them too.

    Returns:
        (N, H, W) masks.
    """
    N, H, W = len(points), *size
    starts, ends = points, np.roll(points, -1, axis=1)
    if not closed:
        starts, ends = starts[:, :-1], ends[:, :-1]
    found = np.zeros((N, H, W), bool)
    if closed:
        found |= _inside(starts, ends, size)
    if grow is not None and (grow > 0).any():
        found |= _near(starts, ends, size, grow)
    return found


def _inside(
    starts: NDArray[np.float64], ends: NDArray[np.float64], size: tuple[int, int]
) -> NDArray[np.bool_]:
    """Pixels to whose right an odd number of edges, (N, E, 2), crosses their row: (N, H, W)."""
    (H, W), N = size, len(starts)
    y = np.arange(H) + 0.5
    x0, y0, x1, y1 = (a[..., None] for a in (*starts.transpose(2, 0, 1), *ends.transpose(2, 0, 1)))
    image, edge, row = np.nonzero((y0 > y) != (y1 > y))
    x0, y0, x1, y1 = (a[image, edge, 0] for a in (x0, y0, x1, y1))
    crossing = x0 + (y[row] - y0) / (y1 - y0) * (x1 - x0)
    column = np.clip(np.ceil(crossing - 0.5), 0, W).astype(np.int64)  # pixels left of it
    at = (image * H + row) * (W + 1) + column
    crossings = np.bincount(at, minlength=N * H * (W + 1)).reshape(N, H, W + 1)
    to_the_right = crossings[..., :0:-1].cumsum(2)[..., ::-1]
    return to_the_right % 2 == 1


def _near(
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    size: tuple[int, int],
    grow: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Pixels within a distance, (N,), of an edge, (N, E, 2): (N, H, W)."""
    (H, W), N = size, len(starts)
    y = np.arange(H) + 0.5
    low = np.minimum(starts[..., 1], ends[..., 1]) - grow[:, None]
    high = np.maximum(starts[..., 1], ends[..., 1]) + grow[:, None]
    image, edge, row = np.nonzero((low[..., None] <= y) & (high[..., None] >= y))
    (x0, y0), (x1, y1), r = starts[image, edge].T, ends[image, edge].T, grow[image]
    left, right = _chord(x0, y[row] - y0, r)  # of the disc around the start ...
    for one, two in (_chord(x1, y[row] - y1, r), _band(x0, y0 - y[row], x1 - x0, y1 - y0, r)):
        left, right = np.minimum(left, one), np.maximum(right, two)  # the end, and between
    first = np.clip(np.ceil(left - 0.5), 0, W)
    last = np.clip(np.floor(right - 0.5) + 1, 0, W)
    there = first < last
    at = (image * H + row)[there] * (W + 1)
    length = N * H * (W + 1)
    opened = np.bincount(at + first[there].astype(np.int64), minlength=length)
    shut = np.bincount(at + last[there].astype(np.int64), minlength=length)
    return ((opened - shut).reshape(N, H, W + 1).cumsum(2) > 0)[..., :W]


def _chord(x: Any, dy: Any, radius: Any) -> tuple[Any, Any]:
    """Where a row, `dy` above a disc's middle, enters and leaves it; inf, -inf if it does not."""
    square = radius**2 - dy**2
    half = np.sqrt(np.maximum(square, 0))
    return np.where(square >= 0, x - half, np.inf), np.where(square >= 0, x + half, -np.inf)


def _band(x: Any, y: Any, dx: Any, dy: Any, radius: Any) -> tuple[Any, Any]:
    """Where the row y = 0 is beside the edge from (x, y) by (dx, dy), at most `radius` away."""
    length = np.hypot(dx, dy)
    with np.errstate(divide="ignore", invalid="ignore"):
        # beside: 0 <= (X - x) dx - y dy <= length²; near: |(X - x) dy + y dx| <= radius length
        ends = np.stack([x + y * dy / dx, x + (length**2 + y * dy) / dx])
        sides = np.stack([x + (radius * length - y * dx) / dy, x - (radius * length + y * dx) / dy])
    upright, level = dx == 0, dy == 0
    beside = (-y * dy >= 0) & (-y * dy <= length**2)  # for all X of an upright edge
    close = np.abs(y * dx) <= radius * length
    far = np.array([-np.inf, np.inf])[:, None]
    ends = np.where(upright, np.where(beside, far, -far), ends)
    sides = np.where(level, np.where(close, far, -far), sides)
    low = np.maximum(_lower(ends, upright), _lower(sides, level))
    high = np.minimum(_upper(ends, upright), _upper(sides, level))
    good = (low <= high) & (length > 0)
    return np.where(good, low, np.inf), np.where(good, high, -np.inf)


def _lower(pair: Any, in_order: Any) -> Any:
    return np.where(in_order, pair[0], np.minimum(*pair))


def _upper(pair: Any, in_order: Any) -> Any:
    return np.where(in_order, pair[1], np.maximum(*pair))
