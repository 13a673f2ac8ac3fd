"""The fast rasterising gives what measuring each pixel against each edge gives."""

import numpy as np
import pytest
from numpy.typing import NDArray

from fer_lightning.data.regions import Outline, rasterise, rasterise_many


def pixel_by_pixel(outline: Outline, size: tuple[int, int]) -> NDArray[np.bool_]:
    """Even-odd rule for the inside, distance to the nearest edge for the margin."""
    y = (np.arange(size[0]) + 0.5)[:, None]
    x = (np.arange(size[1]) + 0.5)[None]
    inside = np.zeros(size, bool)
    near = np.full(size, np.inf)
    starts = outline.points
    ends = np.roll(starts, -1, axis=0)
    if not outline.closed:
        starts, ends = starts[:-1], ends[:-1]
    for (x0, y0), (x1, y1) in zip(starts, ends, strict=True):
        dx, dy = x1 - x0, y1 - y0
        if dy != 0:
            inside ^= ((y0 > y) != (y1 > y)) & (x < x0 + (y - y0) / dy * dx)
        length = dx * dx + dy * dy
        along = np.clip(((x - x0) * dx + (y - y0) * dy) / length, 0, 1) if length else 0.0
        near = np.minimum(near, (x - x0 - along * dx) ** 2 + (y - y0 - along * dy) ** 2)
    return (inside & outline.closed) | ((near <= outline.grow**2) & (outline.grow > 0))


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("grow", [0.0, 0.83, 2.71])
@pytest.mark.parametrize("step", [0.25, 1e-9])  # quarters of a pixel hit edges and centres exactly
def test_it_is_what_each_pixel_says(closed: bool, grow: float, step: float) -> None:
    rng = np.random.default_rng(0)
    points = np.round(rng.uniform(-6, 30, (60, 7, 2)) / step) * step
    points[:20, 1] = points[:20, 0]  # an edge without length
    points[20:30, 2, 0] = points[20:30, 1, 0]  # an upright one
    points[30:40, 2, 1] = points[30:40, 1, 1]  # a level one
    size = (23, 25)
    found = rasterise_many(points, size, closed, np.full(60, grow))
    for one, outline in zip(found, points, strict=True):
        np.testing.assert_array_equal(one, pixel_by_pixel(Outline(outline, closed, grow), size))


def test_several_outlines_join() -> None:
    square = np.array([[1.0, 1.0], [3.0, 1.0], [3.0, 3.0], [1.0, 3.0]])
    parts = [Outline(square), Outline(square + 2.0, grow=0.6)]
    expected = pixel_by_pixel(parts[0], (6, 6)) | pixel_by_pixel(parts[1], (6, 6))
    np.testing.assert_array_equal(rasterise(parts, (6, 6)), expected)
