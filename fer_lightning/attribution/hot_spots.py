"""Outlines and boxes around the hot parts of a map."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.errors import UserError

LEVELS = tuple(np.linspace(0.5, 0.95, 8).tolist())  # shares of a map's maximum
BOX_LEVELS = (0.5, 0.45, 0.4, 0.35, 0.3)  # tried in this order until a region is found
MIN_PIXELS = 30  # of the drawn picture
TOLERANCE = 1.0  # pixels by which a simplified outline may stray (Douglas-Peucker)


class Contour(NamedTuple):
    """The outline of a connected region.

    Args:
        points: (M, 2) int32, x and y of the corners in pixels of the map.
        level: share of the map's maximum that the region reaches.
        pixels: area of the region, counted in pixels.
    """

    points: NDArray[np.int32]
    level: float
    pixels: int


class Box(NamedTuple):
    """The smallest upright rectangle around a connected region.

    Args:
        x: first column.
        y: first row.
        width: columns.
        height: rows.
        heat: mean heat inside, as a share of the map's maximum.
        level: share of the map's maximum that the region reaches.
    """

    x: int
    y: int
    width: int
    height: int
    heat: float
    level: float


def find_contours(
    heat: NDArray[np.floating],
    levels: Sequence[float] = LEVELS,
    min_pixels: int = MIN_PIXELS,
    tolerance: float = TOLERANCE,
) -> list[Contour]:
    """Outline the connected regions (8-connectivity) that reach each level.

    Args:
        heat: (H, W) at the size of the drawn picture, finite and not negative.
        levels: shares of the map's maximum.
        min_pixels: smaller regions are dropped; pixels are counted (`cv2.contourArea` would call
            a filled square of 6x6 pixels 25).
        tolerance: pixels by which an outline may be simplified.

    Returns:
        Contours level by level, none for an all-zero map. Holes are not outlined.

    Raises:
        UserError: no map, or NaN, infinity or negative heat in it.

    >>> heat = np.zeros((20, 20))
    >>> heat[2:8, 3:9] = 1
    >>> [(c.points.tolist(), c.pixels) for c in find_contours(heat, levels=[0.5])]
    [([[3, 2], [3, 7], [8, 7], [8, 2]], 36)]
    """
    heat = check_map(heat)
    contours = []
    for level in levels:
        for region, (x, y, _, _, pixels) in _regions(heat, level, min_pixels):
            outlines, _ = cv2.findContours(region, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
            points = cv2.approxPolyDP(outlines[0], tolerance, closed=True)[:, 0] + (x, y)
            contours.append(Contour(points.astype(np.int32), level, pixels))
    return contours


def find_boxes(
    heat: NDArray[np.floating],
    levels: Sequence[float] = BOX_LEVELS,
    min_pixels: int = MIN_PIXELS,
) -> list[Box]:
    """Box the connected regions of the first level that has any.

    Args:
        heat: (H, W) at the size of the drawn picture, finite and not negative.
        levels: shares of the map's maximum, in the order in which they are tried.
        min_pixels: smaller regions are dropped, counted in pixels.

    Returns:
        Boxes, the hottest first; none if no level has a region that is large enough.

    >>> heat = np.zeros((20, 20))
    >>> heat[0, 0], heat[5:11, 5:11] = 1, 0.4  # one hot pixel is too small
    >>> find_boxes(heat)
    [Box(x=5, y=5, width=6, height=6, heat=0.4, level=0.4)]
    """
    heat = check_map(heat)
    for level in levels:
        boxes = []
        for _, (x, y, width, height, _) in _regions(heat, level, min_pixels):
            inside = heat[y : y + height, x : x + width].mean(dtype=np.float64) / heat.max()
            boxes.append(Box(x, y, width, height, round(float(inside), 6), level))
        if boxes:
            return sorted(boxes, key=lambda box: -box.heat)
    return []


def check_map(heat: NDArray[np.floating]) -> NDArray[np.floating]:
    """Refuse anything but one map of finite heat that is not negative.

    Raises:
        UserError: another shape, or NaN, infinity or negative heat.
    """
    if heat.ndim != 2 or heat.size == 0:
        raise UserError(f"expected one map of shape (H, W) but got {heat.shape}; pass them singly")
    if not np.isfinite(heat).all() or heat.min() < 0:
        raise UserError(
            "expected a map of finite heat that is not negative but got values from "
            f"{heat.min():.3g} to {heat.max():.3g}; make it by to_heat"
        )
    return heat


def _regions(
    heat: NDArray[np.floating], level: float, min_pixels: int
) -> Iterator[tuple[NDArray[np.uint8], tuple[int, int, int, int, int]]]:
    """Give each region as a mask of its own rectangle, and its x, y, width, height, pixels."""
    highest = heat.max()
    if highest <= 0:
        return
    hot = (heat >= level * highest).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(hot, connectivity=8)
    for label, row in enumerate(stats.tolist()):
        x, y, width, height, pixels = row
        if label and pixels >= min_pixels:  # label 0 is what is cold
            part = labels[y : y + height, x : x + width] == label
            yield part.astype(np.uint8), (x, y, width, height, pixels)
