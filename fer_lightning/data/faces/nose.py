"""The nose and the fold beside it, as curves that the action units move."""

import numpy as np

from fer_lightning.data.faces.people import Traits
from fer_lightning.data.faces.pose import Pose
from fer_lightning.data.faces.shapes import SIDE, Shapes, Units, circle, loop, paired, spread


def nose(traits: Traits, au: Units, pose: Pose) -> Shapes:
    """Bridge, wings, nostrils, wrinkles and the fold from the nose to the mouth corner."""
    a = paired(au)
    t = spread(traits, 2)
    raised = 1.3 * a[9] + 0.4 * a[10]
    bottom = t["nose_y"] - 0.5 * raised  # level of the nostrils
    width = t["nose_width"] * (1 + 0.1 * a[9] + 0.08 * a[12])
    s = np.linspace(0, 1, 8)[None, None]  # bridge → wing
    edge = t["nose_bridge"] + (0.72 * width - t["nose_bridge"]) * s**2.2
    height = -6.0 + (bottom + 5.4) * s
    ridge = pose.project(SIDE * edge, height, lift=1.0 + 4.0 * s**1.5)  # (N, 2, 8, 2)
    angle = circle(14)
    wing_x = SIDE * (0.74 * width + 0.26 * width * np.cos(angle))
    wing_y = bottom - 0.9 + 1.25 * np.sin(angle)
    hole_x = SIDE * (0.46 * width + 0.26 * width * np.cos(angle))
    hole_y = bottom + 0.15 + 0.42 * np.sin(angle) - 0.25 * np.cos(angle)
    ball_x = 0.55 * width * np.cos(angle) + 0 * SIDE
    ball_y = bottom - 1.3 + 1.6 * np.sin(angle)
    bend = np.linspace(-0.5, 0.55, 7)[None, None] * np.pi  # outer rim of a wing
    rows = np.array([-3.6, -2.2, -0.8])[None, :, None]
    across = np.linspace(-1, 1, 7)[None, None]
    nasal = np.linspace(0, 1, 9)[None, None]
    smile = 0.8 * a[12] + 0.3 * a[10]
    fold_x = width + 0.3 + (t["mouth_width"] + 2.6 + 1.2 * a[12] - width) * nasal**1.1
    fold_y = bottom - 1.6 - raised * 0.5 + (t["mouth_y"] + 1.4 - 2.0 * a[12] - bottom) * nasal
    fold_x = fold_x + 1.5 * smile * np.sin(np.pi * nasal) * (1 - 0.3 * nasal)
    reach = width + 0.9
    region = np.concatenate(
        [
            SIDE * np.array([1.5, 2.0, 2.6])[None, None] + 0 * reach,
            SIDE * reach * np.array([0.95, 1.0, 0.6])[None, None],
        ],
        axis=2,
    )
    levels = np.concatenate(
        [
            np.array([-4.2, -2.0, 0.0])[None, None] + 0 * bottom,
            bottom + np.array([-1.6, 0.5, 1.5])[None, None],
        ],
        axis=2,
    )
    outline = pose.project(region, levels, lift=2.5)
    return {
        "ridge_nose": loop(ridge[:, 0], ridge[:, 1]),
        "ridge_side": ridge,
        "wing": pose.project(wing_x, wing_y, lift=2.5),
        "wing_rim": pose.project(
            SIDE * (0.76 * width + 0.3 * width * np.cos(bend)),
            bottom - 0.9 + 1.4 * np.sin(bend),
            lift=2.0,
        ),
        "nostril": pose.project(hole_x, hole_y, lift=3.5),
        "ball": pose.project(ball_x, ball_y, lift=5.5)[:, 0],
        "wrinkle": pose.project(
            (2.3 + 0.1 * rows) * across, 1.15 * rows + 0.8 * across**2, lift=2.5
        ),
        "fold": pose.project(SIDE * fold_x, fold_y),
        "nose_region": loop(outline[:, 0], outline[:, 1]),
    }
