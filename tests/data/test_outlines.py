import numpy as np
import pytest

from fer_lightning.data.regions import Outline, rasterise


def box(x0: float, y0: float, x1: float, y1: float) -> Outline:
    return Outline(np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]))


def test_a_box_covers_the_pixels_whose_centres_it_holds() -> None:
    mask = rasterise([box(2, 1, 5, 3)], (6, 8))
    expected = np.zeros((6, 8), bool)
    expected[1:3, 2:5] = True
    assert np.array_equal(mask, expected)


def test_a_triangle_has_half_the_area_of_its_box() -> None:
    triangle = Outline(np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]]))
    assert rasterise([triangle], (100, 100)).mean() == pytest.approx(0.5, abs=0.006)


def test_growing_a_point_gives_a_disc() -> None:
    point = Outline(np.array([[20.0, 20.0], [20.0, 20.0]]), closed=False, grow=10.0)
    assert rasterise([point], (40, 40)).sum() == pytest.approx(np.pi * 100, rel=0.02)


def test_an_open_line_has_no_inside() -> None:
    points = np.array([[5.0, 5.0], [25.0, 5.0], [25.0, 25.0], [5.0, 25.0]])
    ring = rasterise([Outline(points, closed=False, grow=1.0)], (30, 30))
    assert ring[5, 15]
    assert not ring[15, 15]
    assert not ring[15, 5]  # the side between the last and the first point stays open


def test_outlines_join_and_scale() -> None:
    parts = [box(0, 0, 2, 2), box(4, 4, 6, 6)]
    assert rasterise(parts, (6, 6)).sum() == 8
    assert rasterise([part.scaled(2, 3) for part in parts], (18, 12)).sum() == 48


def test_outside_the_picture_is_empty() -> None:
    assert not rasterise([box(100, 100, 120, 120)], (48, 48)).any()
