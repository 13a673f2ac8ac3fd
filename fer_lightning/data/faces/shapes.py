"""Small tools for curves of many faces at once."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Units = dict[int, Array]  # FACS number → (N, 2) strength on the left and right half
Shapes = dict[str, Array]  # name → (N, points, 2), or (N, 2, points, 2) for left and right
SIDE = np.array([-1.0, 1.0])[None, :, None]  # (1, 2, 1): left, right half of the picture


def paired(values: dict[int, Array]) -> dict[int, Array]:
    """Action units (N, 2) as (N, 2, 1), to go with left and right curves (N, 2, points)."""
    return {key: value[:, :, None] for key, value in values.items()}


def whole(values: dict[int, Array]) -> dict[int, Array]:
    """Action units (N, 2) as their mean (N, 1), to go with one curve (N, points)."""
    return {key: value.mean(1, keepdims=True) for key, value in values.items()}


def spread(traits: dict[str, Array], axes: int) -> dict[str, Array]:
    """Traits (N,) with `axes` axes of length 1 added; wider traits are left out.

    >>> spread({"chin": np.zeros(3), "strand": np.zeros((3, 24))}, 2)["chin"].shape
    (3, 1, 1)
    """
    return {k: v.reshape(-1, *[1] * axes) for k, v in traits.items() if v.ndim == 1}


def loop(first: Array, second: Array) -> Array:
    """Close two curves (..., P, 2) that run the same way into one polygon (..., 2P, 2)."""
    return np.concatenate([first, second[..., ::-1, :]], axis=-2)


def circle(points: int) -> Array:
    """Angles of points around a circle, (points,), in radians."""
    return np.linspace(0, 2 * np.pi, points, endpoint=False)
