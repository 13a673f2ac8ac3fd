"""Eyes, brows, nose and mouth as curves that the action units move."""

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.faces.people import Traits
from fer_lightning.data.faces.pose import Pose

Array = NDArray[np.float64]
Shapes = dict[str, Array]  # name → (N, points, 2), or (N, 2, points, 2) for left and right
SIDE = np.array([-1.0, 1.0])[None, :, None]  # (1, 2, 1): left, right half of the picture


def column(values: Array) -> Array:
    """(N,) or (N, 2) → something that broadcasts with (N, 2, points)."""
    return values[:, None, None] if values.ndim == 1 else values[:, :, None]


def loop(first: Array, second: Array) -> Array:
    """Close two curves (..., P, 2) that run the same way into one polygon (..., 2P, 2)."""
    return np.concatenate([first, second[..., ::-1, :]], axis=-2)


def _rounded(wave: Array) -> Array:
    """Make a circle's coordinate that of a rounded square."""
    return np.sign(wave) * np.abs(wave) ** 0.65


def eyes(traits: Traits, au: dict[int, Array], pose: Pose) -> Shapes:
    """Lid curves, iris, crease and lower fold of both eyes; curves run from nose to temple."""
    u = np.linspace(-1, 1, 15)[None, None]
    a = {k: column(v) for k, v in au.items()}
    t = {k: column(v) for k, v in traits.items() if v.ndim == 1}
    x = SIDE * (t["eye_x"] + t["eye_width"] * u)
    base = t["eye_y"] + t["eye_cant"] * u + 0.25 * a[15] * u - 0.2 * a[12] * u
    arc = (1 - np.abs(u) ** 2.3) * (1 - 0.35 * np.minimum(a[1], 2 * a[4]) * u + 0.12 * a[2] * u)
    closed = 1 - 0.9 * np.clip(a[43], 0, 1)
    upper = t["eye_open"] * 2.1 * (1 + 0.65 * a[5] - 0.36 * a[7] - 0.25 * a[6] - 0.2 * a[9])
    upper = np.maximum(upper * closed - 0.3 * a[4] * (1 - u), 0.05)
    lower = t["eye_open"] * 1.5 * (1 + 0.15 * a[5] - 0.45 * a[7] - 0.6 * a[6] - 0.3 * a[9])
    lower = np.maximum(lower * (0.6 + 0.4 * closed), -0.2)
    y_up, y_low = base - upper * arc, base + lower * (1 - np.abs(u) ** 2.0)
    crease = y_up - (1.15 - 0.45 * a[4] + 0.35 * a[5]) * (1 - 0.5 * u**2)
    bag = base + 2.3 - 0.9 * a[6] - 0.5 * a[7] + 0.4 * (1 - u**2) * 1.5 - 0.5
    circle = np.linspace(0, 2 * np.pi, 20, endpoint=False)[None, None]
    iris_x = SIDE * t["eye_x"] + t["gaze_x"] + 1.75 * np.cos(circle)
    iris_y = t["eye_y"] - 0.15 + t["gaze_y"] + 1.75 * np.sin(circle)
    wide = SIDE * (t["eye_x"] + (t["eye_width"] + 0.7) * u)
    return {
        "lid_up": pose.project(x, y_up),
        "lid_low": pose.project(x, y_low),
        "lid_top": pose.project(x, np.minimum(base - 3.2, y_up - 0.3)),
        "lid_bottom": pose.project(x, np.maximum(base + 2.6, y_low + 0.3)),
        "crease": pose.project(x, crease),
        "bag": pose.project(x[..., 2:], bag[..., 2:]),
        "iris": pose.project(iris_x, iris_y),
        "eye_region": loop(
            pose.project(wide, np.minimum(y_up, base - 1.0) - 1.0),
            pose.project(wide, np.maximum(y_low, base + 0.8) + 0.9),
        ),
        "lens": pose.project(
            SIDE * (t["eye_x"] + 0.3 + 5.4 * t["glasses_size"] * _rounded(np.cos(circle))),
            t["eye_y"] + 0.9 + 4.1 * t["glasses_size"] * _rounded(np.sin(circle)),
            lift=2.5,
        ),
        "socket": loop(pose.project(x, base - 3.4 + u**2), pose.project(x, base + 2.0 - u**2)),
    }


def brows(traits: Traits, au: dict[int, Array], pose: Pose) -> Shapes:
    """Brow polygons, their regions, furrows between them and lines on the forehead."""
    s = np.linspace(0, 1, 19)[None, None]  # nose → temple
    a = {k: column(v) for k, v in au.items()}
    t = {k: column(v) for k, v in traits.items() if v.ndim == 1}
    x = t["eye_x"] - 4.6 + (10.9 + 0.5 * t["eye_width"] - 1.6) * s - 1.3 * a[4] * (1 - s)
    y = t["eye_y"] - t["brow_gap"] - t["brow_slope"] * (s - 0.4)
    y = y - t["brow_arch"] * (np.sin(np.pi * s**1.25) - 0.4) * (1 - 0.5 * a[4])
    y = y - 3.5 * a[1] * (1 - s) ** 1.3 - 2.9 * a[2] * (0.2 + 0.8 * np.sin(0.62 * np.pi * s))
    y = y + 2.9 * a[4] * (1 - 0.72 * s) + 1.1 * a[9] * (1 - s) + 0.5 * a[6] * s
    thick = t["brow_thick"] * np.interp(s, [0, 0.1, 0.3, 0.6, 1], [0.3, 0.8, 1.0, 0.85, 0.2])

    def polygon(extra: float) -> Array:
        wide = np.interp(s, [0, 1], [-extra, extra])
        ends = SIDE * (x + wide)
        return loop(
            pose.project(ends, y - thick - extra, lift=0.8),
            pose.project(ends, y + 0.85 * thick + extra, lift=0.8),
        )

    furrow = np.linspace(0, 1, 5)[None, None]
    top = t["eye_y"] - t["brow_gap"] + 1.6 * a[4] - 0.6
    lines = np.linspace(-1, 1, 13)[None, None]
    rows = np.array([-2.2, -4.2])[None, :, None]  # two lines above the brows
    level = t["eye_y"] - t["brow_gap"] - 1.0 - 2.0 * (a[1].mean(1, keepdims=True))
    return {
        "brow": polygon(0.0),
        "brow_soft": polygon(0.35),
        "brow_region": polygon(0.9),
        "furrow": pose.project(SIDE * (1.5 - 0.4 * a[4] + 0.3 * furrow), top + 3.2 * furrow),
        "forehead": pose.project(9.5 * lines + 0 * rows, level + rows + 0.8 * lines**2),
        "ridge": loop(
            pose.project(SIDE * x, y - 1.4, lift=0.5), pose.project(SIDE * x, y + 1.6, lift=0.5)
        ),
    }
