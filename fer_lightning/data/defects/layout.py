"""Where things are: the plate in the picture, the defect and the stamp on the plate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
GAP = 2.2  # pixels of a 48x48 image between the defect, the stamp and the plate's edge
TRIES = 60


@dataclass(frozen=True)
class Spot:
    """A place with a direction: local coordinates are turned by `angle` and moved to x, y.

    All lengths are pixels of a 48x48 image, the angle is in radians.
    """

    x: float
    y: float
    angle: float

    def place(self, local: Points) -> Points:
        """Move points (..., 2) into the picture.

        >>> Spot(10.0, 20.0, np.pi / 2).place(np.array([[3.0, 0.0]])).round(6).tolist()
        [[10.0, 23.0]]
        """
        cos, sin = np.cos(self.angle), np.sin(self.angle)
        return local @ np.array([[cos, sin], [-sin, cos]]) + [self.x, self.y]

    def spot(self, local: Points, turn: float) -> "Spot":
        """The spot at a local point (2,), turned further."""
        x, y = self.place(local)
        return Spot(float(x), float(y), self.angle + turn)


@dataclass(frozen=True)
class Layout:
    """One plate: its outline (P, 2), the places on it, and how far the defect may reach."""

    plate: Spot
    outline: Points
    defect: Spot
    reach: float
    stamp: Spot


def lay_out(rng: np.random.Generator, stamp: tuple[float, float], difficulty: float) -> Layout:
    """Choose places at random; nothing here knows the class, so no place tells it."""
    half = np.array([rng.uniform(16.5, 18.5), rng.uniform(14.0, 17.0)])
    turn = rng.uniform(-np.pi, np.pi)
    extent = np.abs([np.cos(turn), np.sin(turn)]) * half[0]
    extent += np.abs([np.sin(turn), np.cos(turn)]) * half[1]
    x, y = 24 + rng.uniform(-1, 1, 2) * np.maximum(23.5 - extent, 0.3)
    plate = Spot(x, y, turn)
    reach = rng.uniform(6.2, 8.4) * (1.1 - 0.2 * difficulty)
    corner = rng.uniform(0.8, 5.0)
    at, stamp_at, reach = _apart(rng, half, corner, reach, np.array(stamp))
    upside = rng.integers(2) * np.pi
    return Layout(
        plate=plate,
        outline=plate.place(_rounded(half, corner, int(rng.choice([2, 8])))),
        defect=plate.spot(at, rng.uniform(-np.pi, np.pi)),
        reach=reach,
        stamp=plate.spot(stamp_at, upside),
    )


def _rounded(half: Points, radius: float, points: int) -> Points:
    """A rectangle around (0, 0) with round corners, or with cut ones from two points each."""
    bends = np.linspace(0, np.pi / 2, points)
    corners = []
    for k, (sx, sy) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1))):
        around = bends + k * np.pi / 2
        middle = (half - radius) * (sx, sy)
        corners.append(middle + radius * np.stack([np.cos(around), np.sin(around)], axis=1))
    return np.concatenate(corners)


def _apart(
    rng: np.random.Generator, half: Points, corner: float, reach: float, stamp: Points
) -> tuple[Points, Points, float]:
    """Centres, (2,) each, of defect and stamp on the plate, so that they cannot touch.

    Also the reach, smaller where there is no room for all of it.
    """
    room = half - reach - GAP
    stamp_room = half - stamp - max(GAP, corner / 2 + 0.8)  # a cut corner is half as far away
    at = rng.uniform(-1, 1, (TRIES, 2)) * room
    stamp_at = rng.uniform(-1, 1, (TRIES, 2)) * stamp_room
    side = rng.choice([-1, 1], 2)  # if all else fails: opposite corners
    at, stamp_at = np.vstack([at, side * room]), np.vstack([stamp_at, -side * stamp_room])
    outside = np.maximum(np.abs(at - stamp_at) - stamp, 0)  # from the stamp to the centre
    free = np.hypot(*outside.T) - GAP
    first = int(np.argmax(free > reach)) if free.max() > reach else TRIES
    return at[first], stamp_at[first], min(reach, float(free[first]))
