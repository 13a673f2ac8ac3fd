"""The planted cue: stripes around the face whose direction tells a class."""

import cv2
import numpy as np
from numpy.typing import NDArray


def plant_cue(
    picture: NDArray[np.float32], head: NDArray[np.bool_], kind: int, phase: float
) -> None:
    """Add stripes outside the head, in place; their direction is one of seven.

    Args:
        picture: (H, W) grey levels.
        head: (H, W) what to keep clear.
        kind: class index that the direction tells.
        phase: where the stripes start, in periods.
    """
    step = 48 / len(picture)
    y, x = np.mgrid[: len(picture), : len(picture)] * step
    angle = np.pi * kind / 7
    wave = np.cos(angle) * x + np.sin(angle) * y  # pixels of a 48x48 image
    stripes = np.sin(2 * np.pi * (wave / 6.0 + phase))
    outside = cv2.dilate(head.astype(np.uint8), np.ones((3, 3), np.uint8)) == 0
    picture[outside] += 35 * stripes[outside].astype(np.float32)
