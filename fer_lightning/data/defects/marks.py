"""What is on a plate: one of six defects, and a stamp that means nothing."""

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.defects.layout import Points, Spot
from fer_lightning.data.faces.paint import UNIT, Brush

Field = NDArray[np.float32]
Cells = NDArray[np.bool_]
DIGITS = (  # 3x5 dots, row by row
    "111101101101111", "010110010010111", "111001111100111", "111001011001111", "101101111001001",
    "111100111001111", "111100111101111", "111001010010010", "111101111101111", "111101111001111",
)  # fmt: skip
SMALLEST_DEFECT = 0.55  # half width of a line's footprint, pixels of a 48x48 image


@dataclass(frozen=True)
class Layers:
    """What marks do to a surface, (side, side) each."""

    tone: Field  # factor of the grey, 1 where nothing is
    relief: Field  # height in pixels of a 48x48 image
    defect: NDArray[np.uint8]  # 255 on the defect
    stamp: NDArray[np.uint8]  # 255 on the stamp's rectangle

    @classmethod
    def blank(cls, side: int) -> "Layers":
        """Layers without any mark."""
        kinds = (np.float32, np.uint8, np.uint8)
        return cls(np.ones((side, side), np.float32), *(np.zeros((side, side), k) for k in kinds))

    @property
    def scale(self) -> float:
        """Pixels of the canvas for one of a 48x48 image."""
        return len(self.tone) / 48

    def fixed(self, points: Points) -> NDArray[np.int32]:
        """Points in the brush's coordinates."""
        return np.round(points * self.scale * UNIT).astype(np.int32)

    def carve(self, points: Points, tone: float, depth: float) -> None:
        """Cut a polygon out of the surface: another grey, a height below it."""
        corners = self.fixed(points)
        Brush(self.tone, self.scale).fill(corners, tone)
        Brush(self.relief, self.scale).fill(corners, -depth)
        Brush(self.defect, self.scale).fill(corners, 255)
        Brush(self.defect, self.scale).line(corners, 255, 2 * SMALLEST_DEFECT)

    def soft(self, field: Field, sigma: float) -> Field:
        """Blur by `sigma` pixels of a 48x48 image."""
        return np.asarray(cv2.GaussianBlur(field, (0, 0), sigma * self.scale), np.float32)


def _ribbon(line: Points, half_width: Points) -> Points:
    """The polygon around a line (P, 2) with its own half width at each point, (P,)."""
    along = np.gradient(line, axis=0)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    across *= (half_width / np.maximum(np.hypot(*along.T), 1e-6))[:, None]
    return np.concatenate([line + across, (line - across)[::-1]])


def _blob(rng: np.random.Generator, radius: float, uneven: float, points: int = 36) -> Points:
    """A closed wavy outline around (0, 0), nowhere farther out than `radius`."""
    around = np.linspace(0, 2 * np.pi, points, endpoint=False)
    waves = [
        np.cos(k * around + rng.uniform(0, 2 * np.pi)) * rng.uniform(0.3, 1) / k for k in (2, 3, 5)
    ]
    out = 1 + uneven * np.sum(waves, axis=0)
    out *= radius / out.max()
    squeeze = rng.uniform(0.65, 1.0)
    return np.stack([out * np.cos(around), squeeze * out * np.sin(around)], axis=1)


def _either(rng: np.random.Generator, change: float) -> float:
    """A tone as much darker as brighter than the surface, by chance."""
    return 1 + change if rng.random() < 0.5 else 1 - 0.9 * change


def scratch(layers: Layers, rng: np.random.Generator, at: Spot, reach: float, force: float) -> None:
    """One long smooth cut, thin at its ends, bright or dark."""
    s = np.linspace(-1, 1, 25)
    bend = rng.uniform(-0.28, 0.28)
    line = reach * np.stack([s * (1 - 0.5 * abs(bend)), bend * (s**2 - 0.4)], axis=1)
    width = rng.uniform(0.45, 0.7) * (1 - np.abs(s) ** 3) + 0.08
    layers.carve(at.place(_ribbon(line, width)), _either(rng, 0.5 * force), 0.3 * force)


def crack(layers: Layers, rng: np.random.Generator, at: Spot, reach: float, force: float) -> None:
    """A jagged dark line with branches."""
    points = int(rng.integers(8, 11))
    s = np.linspace(-0.97, 0.97, points)
    zigzag = rng.uniform(0.09, 0.2, points) * np.resize([1, -1], points)
    trunk = reach * np.stack([s, zigzag + 0.12 * rng.uniform(-1, 1) * s], axis=1)
    lines = [trunk]
    for k in rng.permutation(np.arange(2, points - 2))[: int(rng.integers(2, 4))]:
        away = np.sign(zigzag[k]) * np.array([rng.uniform(-0.2, 0.9), 1.0])
        away = np.array([abs(away[0]) * rng.choice([-1, 1]), away[1]])
        steps = np.array([[0, 0], [0.45, 0.35], [0.5, 0.8]]) * reach * rng.uniform(0.45, 0.7)
        branch = trunk[k] + steps * away
        far = np.hypot(*branch.T)
        branch *= np.minimum(1, 0.97 * reach / np.maximum(far, 1e-6))[:, None]
        lines.append(branch)
    tone = 1 - 0.62 * force
    for n, line in enumerate(lines):
        width = np.linspace(0.55 if n == 0 else 0.45, 0.25, len(line)) * rng.uniform(0.9, 1.2)
        layers.carve(at.place(_ribbon(line, width)), tone, 0.3 * force)


def pit(layers: Layers, rng: np.random.Generator, at: Spot, reach: float, force: float) -> None:
    """A group of small round holes."""
    count = int(rng.integers(3, 8))
    places = np.zeros((0, 2))
    for spot in rng.normal(0, 0.42 * reach, (60, 2)):
        radius = np.hypot(*spot)
        apart = len(places) == 0 or np.hypot(*(places - spot).T).min() > 3.0
        if radius < reach - 1.6 and apart and len(places) < count:
            places = np.vstack([places, spot])
    for spot in places:
        hole = _blob(rng, rng.uniform(0.85, 1.5), 0.15, 16)
        layers.carve(at.place(spot + hole), 1 - 0.6 * force, 0.75 * force)


def stain(layers: Layers, rng: np.random.Generator, at: Spot, reach: float, force: float) -> None:
    """A flat wavy patch with a rim where a liquid dried, darker or brighter."""
    inner = rng.uniform(0.7, 0.95) * reach
    shape = layers.fixed(at.place(_blob(rng, inner, 0.45)))
    flat = np.zeros_like(layers.tone)
    Brush(flat, layers.scale).fill(shape, 1.0)
    Brush(layers.defect, layers.scale).fill(shape, 255)
    fine, wide = layers.soft(flat, 0.3), layers.soft(flat, 1.4)
    cloud = cv2.resize(
        rng.uniform(0.6, 1.1, (9, 9)).astype(np.float32), flat.shape, interpolation=cv2.INTER_LINEAR
    )
    change = np.float32(_either(rng, 0.4 * force) - 1)
    layers.tone[:] *= 1 + change * fine * (0.75 * cloud + 1.4 * np.maximum(fine - wide, 0))


def dent(layers: Layers, rng: np.random.Generator, at: Spot, reach: float, force: float) -> None:
    """A smooth hollow that only the light shows."""
    long = rng.uniform(0.65, 0.9) * reach
    short = long * rng.uniform(0.7, 1.0)
    line = (np.arange(len(layers.tone), dtype=np.float32) + 0.5) / np.float32(layers.scale)
    x, y = line[None] - at.x, line[:, None] - at.y
    u = (np.cos(at.angle) * x + np.sin(at.angle) * y) / long
    v = (np.cos(at.angle) * y - np.sin(at.angle) * x) / short
    bowl = np.maximum(1 - u * u - v * v, 0).astype(np.float32)
    layers.relief[:] -= np.float32(0.42 * force * short) * bowl**1.5
    layers.defect[bowl > 0] = 255


def scuff(layers: Layers, rng: np.random.Generator, at: Spot, reach: float, force: float) -> None:
    """A patch rubbed by something rough: many short parallel strokes, bright or dark."""
    count = int(rng.integers(4, 7))
    tone = _either(rng, 0.42 * force)
    rows = np.linspace(-0.7, 0.7, count) + rng.uniform(-0.04, 0.04, count)
    for row in rows:
        span = np.sqrt(0.85 - row**2) * rng.uniform(0.55, 0.95)
        shift = rng.uniform(-0.1, 0.1)
        s = np.linspace(-1, 1, 7)
        tilt = rng.uniform(-0.05, 0.05)
        line = reach * np.stack([shift + span * s, row + tilt * s], axis=1)
        width = rng.uniform(0.32, 0.48) * (1 - s**4) + 0.05
        layers.carve(at.place(_ribbon(line, width)), tone, 0.12 * force)


DEFECTS: dict[str, Callable[[Layers, np.random.Generator, Spot, float, float], None]] = {
    draw.__name__: draw for draw in (crack, dent, pit, scratch, scuff, stain)
}


def stamp_cells(rng: np.random.Generator) -> tuple[Cells, tuple[float, float]]:
    """A stamp's dots (rows, columns): digits, bars or a square code; and its half size."""
    kind = int(rng.integers(3))
    if kind == 0:
        digits = [
            np.array([c == "1" for c in DIGITS[k]]).reshape(5, 3)
            for k in rng.integers(10, size=int(rng.integers(2, 5)))
        ]
        cells = np.concatenate([np.pad(d, ((0, 0), (0, 1))) for d in digits], axis=1)[:, :-1]
        dot = rng.uniform(0.8, 1.0) * np.array([1.0, 1.15])
    elif kind == 1:
        cells = np.repeat(rng.random((1, int(rng.integers(9, 14)))) < 0.5, 4, axis=0)
        cells[:, [0, -1]] = True
        dot = np.array([rng.uniform(0.75, 1.0), rng.uniform(0.9, 1.3)])
    else:
        cells = rng.random((7, 7)) < 0.5
        cells[:, 0] = cells[-1] = True  # the two solid sides that a reader looks for
        dot = np.full(2, rng.uniform(0.75, 1.0))
    half = cells.shape[1] * dot[0] / 2, cells.shape[0] * dot[1] / 2
    return cells, (float(half[0]), float(half[1]))


def print_stamp(
    layers: Layers, rng: np.random.Generator, cells: Cells, half: tuple[float, float], at: Spot
) -> None:
    """Print the dots on the surface, dark or bright."""
    rows, columns = cells.shape
    dot = np.array([2 * half[0] / columns, 2 * half[1] / rows]) * layers.scale  # canvas pixels
    cos, sin = np.cos(at.angle), np.sin(at.angle)
    turn = np.array([[cos, -sin], [sin, cos]]) * dot
    middle = np.array([(columns - 1) / 2, (rows - 1) / 2])
    shift = np.array([at.x, at.y]) * layers.scale - 0.5 - turn @ middle
    side = len(layers.tone)
    # a dark frame of one dot keeps the border out of the warp
    dots = np.pad(cells, 1).astype(np.float32)
    shift = shift - turn @ np.ones(2)
    inked = cv2.warpAffine(
        dots, np.column_stack([turn, shift]), (side, side), flags=cv2.INTER_NEAREST
    )
    layers.tone[:] *= 1 + np.float32(_either(rng, rng.uniform(0.3, 0.5)) - 1) * inked
    wide, tall = half[0] + 0.4, half[1] + 0.4
    frame = np.array([[-wide, -tall], [wide, -tall], [wide, tall], [-wide, tall]])
    Brush(layers.stamp, layers.scale).fill(layers.fixed(at.place(frame)), 255)
