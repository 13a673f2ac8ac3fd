"""Eyes as curves that the action units move."""

import numpy as np

from fer_lightning.data.faces.people import Traits
from fer_lightning.data.faces.pose import Pose
from fer_lightning.data.faces.shapes import SIDE, Array, Shapes, Units, circle, loop, paired, spread


def _rounded(wave: Array) -> Array:
    """Make a circle's coordinate that of a rounded square."""
    return np.sign(wave) * np.abs(wave) ** 0.65


def eyes(traits: Traits, au: Units, pose: Pose) -> Shapes:
    """Lid curves, iris, crease and lower fold of both eyes; curves run from nose to temple."""
    u = np.linspace(-1, 1, 15)[None, None]
    a = paired(au)
    t = spread(traits, 2)
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
    around = circle(20)
    iris_x = SIDE * t["eye_x"] + t["gaze_x"] + 1.75 * np.cos(around)
    iris_y = t["eye_y"] - 0.15 + t["gaze_y"] + 1.75 * np.sin(around)
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
            SIDE * (t["eye_x"] + 0.3 + 5.4 * t["glasses_size"] * _rounded(np.cos(around))),
            t["eye_y"] + 0.9 + 4.1 * t["glasses_size"] * _rounded(np.sin(around)),
            lift=2.5,
        ),
        "socket": loop(pose.project(x, base - 3.4 + u**2), pose.project(x, base + 2.0 - u**2)),
    }
