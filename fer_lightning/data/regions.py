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
    for outline in outlines:
        mask |= _covered(outline, size)
    return mask


def _covered(outline: Outline, size: tuple[int, int]) -> NDArray[np.bool_]:
    """Even-odd rule for the inside, distance to the nearest edge for the margin."""
    y = (np.arange(size[0]) + 0.5)[:, None]
    x = (np.arange(size[1]) + 0.5)[None]
    inside = np.zeros(size, bool)
    near = np.full(size, np.inf)
    starts = outline.points
    ends = np.roll(starts, -1, axis=0)
    if not outline.closed:
        starts, ends = starts[:-1], ends[:-1]
    for (x0, y0), (x1, y1) in zip(starts, ends, strict=True):
        dx, dy = x1 - x0, y1 - y0
        if dy != 0:
            inside ^= ((y0 > y) != (y1 > y)) & (x < x0 + (y - y0) / dy * dx)
        if outline.grow > 0:
            length = dx * dx + dy * dy
            along = np.clip(((x - x0) * dx + (y - y0) * dy) / length, 0, 1) if length else 0.0
            near = np.minimum(near, (x - x0 - along * dx) ** 2 + (y - y0 - along * dy) ** 2)
    grown = near <= outline.grow**2
    return (inside & outline.closed) | grown
