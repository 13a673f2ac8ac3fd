"""Outlines of face regions, and the pixels they cover."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
