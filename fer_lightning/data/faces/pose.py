"""Where the head stands: from points on a frontal face to points in the picture."""

from dataclasses import dataclass

import numpy as np

from fer_lightning.data.faces.people import Traits
from fer_lightning.data.faces.shapes import Array

CENTRE_X, CENTRE_Y = 24.3, 24.8  # the middle of the face: puts the mean eye where FER-2013 has it
DEPTH = 20.0  # half depth of the ellipsoid that stands for a head, pixels
PIVOT = 15.0  # depth of the plane that a turn leaves in place


def per_face(values: Array, like: Array) -> Array:
    """Give (N,) values as many trailing axes of length 1 as `like` has.

    >>> per_face(np.zeros(3), np.zeros((3, 2, 5))).shape
    (3, 1, 1)
    """
    return values.reshape(len(values), *[1] * (like.ndim - 1))


@dataclass(frozen=True)
class Pose:
    """The turn, size and place of N heads; all arrays are (N,), angles in radians."""

    yaw: Array
    pitch: Array
    roll: Array
    zoom: Array
    shift_x: Array
    shift_y: Array

    @classmethod
    def of(cls, traits: Traits, difficulty: float) -> "Pose":
        """Scale the traits' turns by the difficulty: up to 24° yaw, 14° pitch, 15° roll at 1."""
        turn = 0.5 + difficulty
        return cls(
            yaw=0.28 * turn * traits["yaw"],
            pitch=0.16 * turn * traits["pitch"],
            roll=0.17 * turn * traits["roll"],
            zoom=1 + 0.07 * turn * traits["zoom"],
            shift_x=2.5 * turn * traits["shift_x"],
            shift_y=2.0 * turn * traits["shift_y"],
        )

    def project(self, x: Array, y: Array, lift: Array | float = 0.0, flat: bool = False) -> Array:
        """Turn points of the frontal face and place them in the picture.

        Args:
            x: (N, ...) pixels to the right of the middle of the face.
            y: (N, ...) pixels below the level between eyes and nose.
            lift: how far the points stand out of the head's ellipsoid, pixels.
            flat: the points lie on the silhouette, where a turn moves nothing but the chin.

        Returns:
            (N, ..., 2) x and y in pixels of a 48x48 picture.
        """
        x, y = np.broadcast_arrays(x, y)
        yaw, pitch, roll, zoom = (
            per_face(a, x) for a in (self.yaw, self.pitch, self.roll, self.zoom)
        )
        if flat:
            depth = 5.0 + 8.0 * np.clip(y / 22, 0, 1) ** 2
        else:
            depth = DEPTH * np.sqrt(np.clip(1 - (x / 21) ** 2 - (y / 30) ** 2, 0.02, 1)) + lift
        x_turned = x * np.cos(yaw) + (depth - PIVOT) * np.sin(yaw)
        depth_turned = depth * np.cos(yaw) - x * np.sin(yaw)
        y_turned = y * np.cos(pitch) + (depth_turned - PIVOT) * np.sin(pitch)
        right = zoom * (x_turned * np.cos(roll) - y_turned * np.sin(roll))
        down = zoom * (x_turned * np.sin(roll) + y_turned * np.cos(roll))
        return np.stack(
            [
                right + CENTRE_X + per_face(self.shift_x, x),
                down + CENTRE_Y + per_face(self.shift_y, x),
            ],
            axis=-1,
        )
