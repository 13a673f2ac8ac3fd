"""The colours of one face, as grey levels without light: skin, hair, eyes, lips."""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.faces.anatomy import SIDE_POINTS

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
        self.lines(points[None], tone, width)

    def lines(self, points: Points, tone: float, width: float) -> None:
        """Draw open lines, one for each row of (K, P, 2)."""
        thick = max(1, round(width * self.scale))
        cv2.polylines(self.canvas, list(points), False, (tone,), thick, cv2.LINE_8, FRACTION)


def _between(a: Points, b: Points, share: NDArray[np.float64] | float) -> Points:
    """Points part of the way from a to b, in fixed-point coordinates."""
    return np.round(a + (b - a) * share).astype(np.int32)


def person(brush: Brush, shape: dict[str, Points], look: dict[str, float]) -> None:
    """Paint what lies around the features: hair behind, neck, ears, face."""
    if look["long"]:
        brush.fill(shape["crown"], 0.75 * look["hair"])
    brush.fill(shape["neck"], 0.8 * look["skin"])
    brush.fill(shape["clothes"], look["clothes"])
    if not look["long"]:
        for k in (0, 1):
            brush.fill(shape["ear"][k], 0.92 * look["skin"])
            brush.fill(shape["ear_inner"][k], 0.7 * look["skin"])
    brush.fill(shape["face"], look["skin"])


def eyes(brush: Brush, shape: dict[str, Points], look: dict[str, float]) -> None:
    """Paint sclera, iris, pupil and lids; the lids cover what the iris leaves outside."""
    skin = look["skin"]
    for k in (0, 1):
        up, low = shape["lid_up"][k], shape["lid_low"][k]
        brush.fill(np.concatenate([up, low[::-1]]), 0.45 * skin + 120)
        iris = shape["iris"][k]
        middle = iris.mean(0, dtype=np.int32)
        brush.fill(iris, look["iris"])
        brush.fill(_between(middle, iris, 0.5), 12)
        glint = _between(middle, iris, 0.22) - (_between(middle, iris, 0.4)[3] - middle)
        brush.line(_between(up, low, 0.12), 0.3 * skin + 50, 0.5)
        brush.fill(glint, 250)
        brush.fill(np.concatenate([up, shape["lid_top"][k][::-1]]), skin)
        brush.fill(np.concatenate([low, shape["lid_bottom"][k][::-1]]), skin)
        brush.fill(np.concatenate([up, shape["crease"][k][::-1]]), 0.92 * skin)
        brush.line(up, 0.22 * skin, 0.55)
        brush.line(low, 0.68 * skin, 0.3)
        brush.line(shape["crease"][k], 0.66 * skin, 0.3)


def brows(brush: Brush, shape: dict[str, Points], look: dict[str, float]) -> None:
    """Paint each brow as a soft base with single hairs over it."""
    skin, dark = look["skin"], look["brow"]
    for k in (0, 1):
        brush.fill(shape["brow_soft"][k], 0.6 * skin + 0.4 * dark)
        brush.fill(shape["brow"][k], 0.2 * skin + 0.8 * dark)
        half = len(shape["brow"][k]) // 2
        top, bottom = shape["brow"][k][:half], shape["brow"][k][half:][::-1]
        strokes = np.stack([bottom[:-1], top[1:]], axis=1)
        brush.lines(strokes, 0.6 * dark, 0.12)


def nose(brush: Brush, shape: dict[str, Points], look: dict[str, float]) -> None:
    """Paint nostrils and the rims of the wings; the bridge is left to the light."""
    for k in (0, 1):
        brush.line(shape["wing_rim"][k], 0.72 * look["skin"], 0.35)
        brush.fill(shape["nostril"][k], 0.28 * look["skin"])


def mouth(brush: Brush, shape: dict[str, Points], look: dict[str, float]) -> None:
    """Paint lips and, where they part, teeth and tongue on the dark inside."""
    lips = look["lips"]
    brush.fill(shape["opening"], 0.12 * look["skin"])
    if look["open"] > 1.5:
        brush.fill(shape["tongue"], 0.45 * lips)
    if look["open"] > 0.4:
        brush.fill(shape["teeth"], 215)
        brush.fill(shape["low_teeth"], 185)
    brush.fill(shape["lip_up"], 0.9 * lips)
    brush.fill(shape["lip_low"], lips)
    if look["open"] <= 0.4:
        brush.line(shape["lip_line"], 0.32 * lips, 0.4)
    brush.line(shape["lip_line"][:3], 0.4 * lips, 0.4)
    brush.line(shape["lip_line"][-3:], 0.4 * lips, 0.4)


def hair(
    brush: Brush, shape: dict[str, Points], look: dict[str, float], strand: NDArray[np.float64]
) -> None:
    """Paint moustache and hair, with lighter and darker strands from crown to hairline."""
    if look["moustache"]:
        brush.fill(shape["moustache"], 0.25 * look["skin"] + 0.75 * look["brow"])
    if look["bald"]:
        return
    tone = look["hair"]
    brush.fill(shape["hair"], tone)
    last = len(shape["crown"]) - 1 - 2 * SIDE_POINTS
    start = SIDE_POINTS + np.round(strand * last).astype(int)
    end = np.round(start + 2 * look["comb"] * np.sin(np.pi * strand) ** 2).astype(int)
    crown, line = shape["crown"][start], shape["hairline"][end]
    strands = np.stack([_between(crown, line, 0.1), _between(crown, line, 0.9)], axis=1)
    brush.lines(strands[::2], min(1.15 * tone + 9, 255), 0.3)
    brush.lines(strands[1::2], 0.82 * tone, 0.4)
