"""Brows, and what they do to the forehead, as curves that the action units move."""

import numpy as np

from fer_lightning.data.faces.people import Traits
from fer_lightning.data.faces.pose import Pose
from fer_lightning.data.faces.shapes import SIDE, Array, Shapes, Units, loop, paired, spread


def brows(traits: Traits, au: Units, pose: Pose) -> Shapes:
    """Brow polygons, their regions, furrows between them and lines on the forehead."""
    s = np.linspace(0, 1, 19)[None, None]  # nose → temple
    a = paired(au)
    t = spread(traits, 2)
    x = t["eye_x"] - 4.3 + (8.7 + 0.5 * t["eye_width"]) * s - 1.3 * a[4] * (1 - s)
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
