"""A brush for polygons and lines with sub-pixel corners."""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.int32]
FRACTION = 4  # bits after the point in a coordinate
UNIT = 1 << FRACTION


@dataclass(frozen=True)
class Brush:
    """Paints on one canvas; coordinates are fixed-point, widths in pixels of a 48x48 image."""

    canvas: NDArray[Any]
    scale: float

    def fill(self, points: Points, tone: float) -> None:
        """Fill a polygon (P, 2)."""
        cv2.fillPoly(self.canvas, [points], (tone,), cv2.LINE_8, FRACTION)

    def line(self, points: Points, tone: float, width: float) -> None:
        """Draw an open line through (P, 2)."""
        thick = max(1, round(width * self.scale))
        cv2.polylines(self.canvas, [points], False, (tone,), thick, cv2.LINE_8, FRACTION)

    def lines(self, points: Points, tone: float, width: float) -> None:
        """Draw open lines, one for each row of (K, P, 2)."""
        thick = max(1, round(width * self.scale))
        cv2.polylines(self.canvas, list(points), False, (tone,), thick, cv2.LINE_8, FRACTION)


def between(a: Points, b: Points, share: NDArray[np.float64] | float) -> Points:
    """Points part of the way from a to b, in fixed-point coordinates."""
    return np.round(a + (b - a) * share).astype(np.int32)
