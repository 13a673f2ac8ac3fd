"""Mouth and chin as curves that the action units move."""

import numpy as np

from fer_lightning.data.faces.people import Traits
from fer_lightning.data.faces.pose import Pose
from fer_lightning.data.faces.shapes import Shapes, Units, circle, loop, spread, whole


def mouth(traits: Traits, au: Units, pose: Pose) -> Shapes:
    """Lips, opening, teeth, tongue; curves run from the left corner to the right one."""
    u = np.linspace(-1, 1, 21)[None]  # (1, P)
    right = (u + 1) / 2
    a = {k: v[:, :1] * (1 - right) + v[:, 1:] * right for k, v in au.items()}  # (N, P)
    m = whole(au)
    t = spread(traits, 1)

    half = t["mouth_width"] + 2.1 * m[12] + 1.9 * m[20] - 0.9 * m[24] - 1.5 * m[26] + 0.2 * m[10]
    x = half * u
    corner = -3.4 * a[12] + 2.5 * a[15] + 0.7 * a[20] + 0.5 * a[26] + t["mouth_bow"]
    middle = 0.7 * m[12] - 0.9 * m[17] - 0.5 * m[15] - 0.4 * m[10]
    centre = t["mouth_y"] + middle + (corner - 0.2 * middle) * np.abs(u) ** 1.7
    bulge = (1 - np.abs(u) ** 2.2) ** 0.8
    part = np.clip(1.4 * m[25], 0, 1.2)
    up = part * (0.5 + 1.0 * m[10] + 0.5 * m[12] + 0.3 * m[26])
    down = part * (0.7 + 5.0 * m[26] + 1.8 * m[16] + 2.0 * m[12] + 0.6 * m[20])
    inner_up, inner_low = centre - up * bulge, centre + down * bulge
    thin = np.clip(1 - 0.75 * m[24] - 0.2 * m[12] - 0.2 * m[20], 0.15, 1.2)
    lip_up = t["lip_upper"] * thin * (1 - 0.25 * m[26])
    lip_low = t["lip_lower"] * thin * (1 + 0.25 * m[17] - 0.15 * m[26])
    bow = 1 - 0.22 * np.exp(-((u / 0.16) ** 2))
    rim = (1 - np.abs(u) ** 1.8) ** 0.75
    outer_up = inner_up - (lip_up + 0.9 * m[10]) * rim * bow
    outer_low = inner_low + lip_low * rim
    show = np.clip(0.9 * m[12] + 0.9 * m[10] + 0.6 * m[20] + 0.5 * m[25], 0, 1.2)
    teeth = np.minimum(inner_up + 2.6 * show * bulge, inner_low - 0.15)
    low_teeth = np.maximum(inner_low - 1.3 * np.clip(1.4 * m[16] - 0.1, 0, 1) * bulge, inner_up)
    tongue = np.maximum(inner_low - 1.6 * bulge, inner_up + 2.2 * bulge)
    wide = (half + 1.0) * u
    tall = (1 - np.abs(u) ** 6) * 1.0
    ring = circle(16)
    chin = t["chin"] + 2.8 * m[26]
    return {
        "lip_up": loop(pose.project(x, outer_up, 1.0), pose.project(x, inner_up, 1.0)),
        "lip_low": loop(pose.project(x, inner_low, 1.0), pose.project(x, outer_low, 1.0)),
        "lip_line": pose.project(x, centre, 1.0),
        "opening": loop(pose.project(x, inner_up, 1.0), pose.project(x, inner_low, 1.0)),
        "teeth": loop(pose.project(x, inner_up, 1.0), pose.project(x, teeth, 1.0)),
        "low_teeth": loop(pose.project(x, low_teeth, 1.0), pose.project(x, inner_low, 1.0)),
        "tongue": loop(pose.project(0.6 * x, tongue, 1.0), pose.project(0.6 * x, inner_low, 1.0)),
        "under_lip": pose.project(0.6 * x, outer_low + 1.0, 0.5),
        "philtrum": pose.project(0.1 * u + 0 * half, t["mouth_y"] - 4.5 + 1.2 * u, 1.0),
        "corner": pose.project(x[:, [0, -1]], centre[:, [0, -1]]),
        "mouth_region": loop(
            pose.project(wide, outer_up - tall, 1.0), pose.project(wide, outer_low + tall, 1.0)
        ),
        "chin_boss": pose.project(
            4.2 * np.cos(ring) + 0 * chin, chin - 4.2 - 0.8 * m[17] + 2.6 * np.sin(ring), 1.0
        ),
        "chin_dent": pose.project(3.0 * u + 0 * chin, chin - 6.6 - m[17] + 0.8 * u**2, 0.5),
    }
