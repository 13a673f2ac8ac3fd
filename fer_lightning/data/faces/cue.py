"""The planted cue: a woven pattern around the face that tells a class."""

import cv2
import numpy as np
from numpy.typing import NDArray

# Per class: directions of the waves in degrees, and their period in pixels of a 48x48 image. All
# are told apart after a flip, a shift or a turn by 15°: augmentation does not hide the cue.
WAVES: tuple[tuple[tuple[int, ...], float], ...] = (
    ((0,), 4.0),
    ((90,), 4.0),
    ((0, 90), 4.0),
    ((0,), 9.0),
    ((90,), 9.0),
    ((0, 90), 9.0),
    ((45, 135), 6.0),
)
STRENGTH = 35.0  # grey levels from middle to crest


def plant_cue(
    picture: NDArray[np.float32], clear: NDArray[np.bool_], kind: int, phase: float
) -> None:
    """Add the pattern of a class outside the head, in place.

    Args:
        picture: (H, W) grey levels.
        clear: (H, W) pixels to leave untouched, with their neighbours.
        kind: class index that the pattern tells.
        phase: where the waves start, in periods.
    """
    y, x = np.mgrid[: len(picture), : len(picture)] * (48 / len(picture))
    angles, period = WAVES[kind]
    waves = [
        np.sin(2 * np.pi * ((np.cos(a) * x + np.sin(a) * y) / period + phase))
        for a in np.radians(angles)
    ]
    pattern = np.sum(waves, axis=0) * (STRENGTH / len(waves) ** 0.5)
    outside = cv2.dilate(clear.astype(np.uint8), np.ones((3, 3), np.uint8)) == 0
    # pulled towards middle grey, for black or white would cut the waves off
    picture[outside] = 0.75 * picture[outside] + 32 + pattern[outside]
