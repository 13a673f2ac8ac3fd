"""Surfaces of the plates: five textures, the wall behind them, and the light on their relief."""

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float32]
GRID = 144  # textures have this many pixels whatever the picture's size, so that they look alike
SOFT = 48  # and so have those without fine detail


def texture(rng: np.random.Generator, side: int) -> tuple[Field, Field]:
    """A random surface's grey and relief, (side, side) each, with deviations around 1.

    The share of relief is a property of the texture.
    """
    make, relief = TEXTURES[int(rng.integers(len(TEXTURES)))]
    field = make(rng)
    field = (field - field.mean()) / field.std()
    if side != GRID:
        how = cv2.INTER_CUBIC if side > GRID else cv2.INTER_AREA
        field = np.asarray(cv2.resize(field, (side, side), interpolation=how), np.float32)
    return field * np.float32(1 - relief), field * np.float32(relief)


def _noise(rng: np.random.Generator, size: int = GRID) -> Field:
    return rng.standard_normal((size, size), dtype=np.float32)


def _broad(rng: np.random.Generator, sigma: float) -> Field:
    """Soft noise, blurred by `sigma` pixels of a 48x48 image."""
    return _enlarged(_blur(_noise(rng, SOFT), sigma), GRID)


def _enlarged(field: Field, side: int) -> Field:
    return np.asarray(cv2.resize(field, (side, side), interpolation=cv2.INTER_CUBIC), np.float32)


def _blur(field: Field, sigma: float) -> Field:
    return np.asarray(cv2.GaussianBlur(field, (0, 0), sigma), np.float32)


def _turned_grid(angle: float) -> tuple[Field, Field]:
    """Coordinates along and across a direction, in pixels of a 48x48 image."""
    line = (np.arange(GRID, dtype=np.float32) - GRID / 2) * np.float32(48 / GRID)
    cos, sin = np.float32(np.cos(angle)), np.float32(np.sin(angle))
    return cos * line[None] + sin * line[:, None], cos * line[:, None] - sin * line[None]


def _brushed(rng: np.random.Generator) -> Field:
    """Fine strokes in one direction."""
    strokes = np.asarray(cv2.blur(_noise(rng), (45, 1)), np.float32)
    strokes += 0.6 * np.asarray(cv2.blur(_noise(rng), (45, 5)), np.float32) * 5**0.5
    turn = cv2.getRotationMatrix2D((GRID / 2, GRID / 2), rng.uniform(0, 180), 1.45)
    return np.asarray(cv2.warpAffine(strokes, turn, (GRID, GRID)), np.float32)


def _cast(rng: np.random.Generator) -> Field:
    """Rough grain of a mould."""
    return _blur(_noise(rng), 1.2) + 0.6 * _broad(rng, 1.2)


def _fabric(rng: np.random.Generator) -> Field:
    """Threads over and under each other."""
    along, across = _turned_grid(rng.uniform(0, np.pi))
    period = rng.uniform(1.6, 2.6)
    warp, weft = np.sin(np.pi / period * along), np.sin(np.pi / period * across)
    weave = np.where(warp * weft > 0, np.abs(warp), 0.75 * np.abs(weft))
    return weave + np.float32(0.5) * _blur(_noise(rng), 0.8)


def _turned(rng: np.random.Generator) -> Field:
    """Arcs of a lathe around a point somewhere on the plate or beside it."""
    x, y = rng.uniform(-0.3, 1.3, 2) * GRID
    line = np.arange(GRID, dtype=np.float32)
    far = np.sqrt((line[None] - x) ** 2 + (line[:, None] - y) ** 2)
    rings = rng.standard_normal(2 * GRID).astype(np.float32)
    rings = np.convolve(rings, np.hanning(6), "same").astype(np.float32)
    return rings[far.astype(np.int32)] + np.float32(0.3) * _blur(_noise(rng), 0.8)


def _hammered(rng: np.random.Generator) -> Field:
    """Shallow facets."""
    return 4 * np.abs(_broad(rng, 1.5)) + _blur(_noise(rng), 0.9)


# each with the share of it that is relief rather than grey
TEXTURES: tuple[tuple[Callable[[np.random.Generator], Field], float], ...] = (
    (_brushed, 0.1),
    (_cast, 0.35),
    (_fabric, 0.25),
    (_turned, 0.1),
    (_hammered, 0.5),
)


def wall(rng: np.random.Generator, plate: NDArray[np.uint8]) -> Field:
    """The darker ground behind a plate and the plate's soft shadow, (side, side) as its mask."""
    rough = rng.standard_normal((6, 6)).astype(np.float32)
    ground = np.float32(rng.uniform(18, 55)) + 5 * _enlarged(rough, SOFT)
    near = cv2.resize(plate, (SOFT, SOFT), interpolation=cv2.INTER_AREA).astype(np.float32)
    shadow = 1 - _blur(near, 1.5) * np.float32(0.5 / 255)
    return _enlarged(np.asarray(ground * shadow, np.float32), len(plate))


def shading(rng: np.random.Generator, relief: Field) -> Field:
    """Light from a random side on a relief, in pixels of a 48x48 image, as a factor around 1."""
    side = len(relief)
    slope = side / 48 / 8  # 8: the sum of Sobel's weights
    gx = cv2.Sobel(relief, cv2.CV_32F, 1, 0, ksize=3, scale=slope)
    gy = cv2.Sobel(relief, cv2.CV_32F, 0, 1, ksize=3, scale=slope)
    angle, hard = rng.uniform(-np.pi, np.pi), rng.uniform(0.65, 0.95)
    lx, ly = np.float32(hard * np.cos(angle)), np.float32(hard * np.sin(angle))
    line = np.linspace(-0.5, 0.5, side, dtype=np.float32)
    fall = np.float32(rng.uniform(0.05, 0.35))
    far = fall * (lx * line[None] + ly * line[:, None])
    return np.clip(1 + far - lx * gx - ly * gy, 0.3, 1.8).astype(np.float32)
