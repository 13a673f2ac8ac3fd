"""Outlines, boxes and overlays of made-up hot spots."""

import cv2
import numpy as np
import pytest
import torch

from fer_lightning.errors import UserError
from fer_lightning.look.heat import to_heat
from fer_lightning.look.overlay import (
    BOX_LEVELS,
    LEVELS,
    as_rgb,
    draw_overlay,
    find_boxes,
    find_contours,
    heat_colours,
    scale_heat,
)


def squares(*spots, size=40):
    """A map with filled squares: (row, column, side, heat)."""
    heat = np.zeros((size, size))
    for row, column, side, value in spots:
        heat[row : row + side, column : column + side] = value
    return heat


def disc(radius, size=224):
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    return np.exp(-(x**2 + y**2) / (2 * radius**2))


def test_levels_are_the_papers():
    assert np.allclose(LEVELS, [0.5, 0.564, 0.629, 0.693, 0.757, 0.821, 0.886, 0.95], atol=5e-4)
    assert BOX_LEVELS[0] == 0.5
    assert BOX_LEVELS[-1] == 0.3


def test_pixels_are_counted():
    """A filled square of 6x6 pixels is 36, where cv2.contourArea finds 25."""
    (contour,) = find_contours(squares((3, 5, 6, 1.0)), levels=[0.5])
    assert contour.pixels == 36
    assert cv2.contourArea(contour.points) == 25
    assert sorted(contour.points.tolist()) == [[5, 3], [5, 8], [10, 3], [10, 8]]


def test_small_regions_are_dropped():
    heat = squares((0, 0, 5, 1.0), (20, 20, 6, 1.0))  # 25 and 36 pixels
    assert [c.pixels for c in find_contours(heat, levels=[0.5])] == [36]
    assert [c.pixels for c in find_contours(heat, levels=[0.5], min_pixels=25)] == [25, 36]


def test_each_level_has_the_regions_that_reach_it():
    heat = squares((0, 0, 8, 1.0), (20, 20, 8, 0.7))
    found = [(round(c.level, 3), c.points.min()) for c in find_contours(heat)]
    assert len(found) == 8 + 4  # the second one reaches 0.5, 0.564, 0.629 and 0.693
    assert found[:2] == [(0.5, 0), (0.5, 20)]


def test_parts_that_touch_at_a_corner_are_one():
    heat = squares((0, 0, 5, 1.0), (5, 5, 5, 1.0))
    assert [c.pixels for c in find_contours(heat, levels=[0.5])] == [50]


def test_outlines_are_simplified_and_stay_near():
    heat = disc(40)
    radius = 40 * np.sqrt(2 * np.log(2))  # where the map is 0.5
    rough = find_contours(heat, levels=[0.5], tolerance=8.0)[0].points
    fine = find_contours(heat, levels=[0.5])[0].points
    assert 4 <= len(rough) < len(fine) < 40
    distance = np.hypot(*(fine - 111.5).T)
    assert np.abs(distance - radius).max() < 2


def test_the_box_is_around_the_region_and_knows_its_heat():
    heat = squares((4, 6, 10, 0.6), (8, 6, 2, 1.0))
    (box,) = find_boxes(heat)
    assert (box.x, box.y, box.width, box.height, box.level) == (6, 4, 10, 10, 0.5)
    assert box.heat == pytest.approx(0.6 + 0.4 * 4 / 100)


@pytest.mark.parametrize(("value", "level"), [(0.5, 0.5), (0.46, 0.45), (0.31, 0.3)])
def test_the_box_threshold_falls_until_a_region_is_found(value, level):
    heat = squares((0, 0, 2, 1.0), (10, 10, 8, value))
    assert [(b.x, b.y, b.level) for b in find_boxes(heat)] == [(10, 10, level)]


def test_no_box_below_thirty_percent():
    assert find_boxes(squares((0, 0, 2, 1.0), (10, 10, 8, 0.29))) == []


def test_hottest_box_first():
    boxes = find_boxes(squares((0, 0, 8, 0.6), (20, 20, 8, 1.0)))
    assert [box.heat for box in boxes] == [1.0, 0.6]


def test_a_map_without_heat_has_nothing_and_leaves_the_picture():
    assert find_contours(np.zeros((9, 9))) == []
    assert find_boxes(np.zeros((9, 9))) == []
    image = np.arange(100, dtype=np.uint8).reshape(10, 10)
    drawn = draw_overlay(image, np.zeros((6, 6)), size=10)
    assert np.array_equal(drawn, np.stack([image] * 3, axis=2))


def test_a_region_at_the_edge_is_outlined():
    (contour,) = find_contours(squares((0, 0, 40, 1.0)), levels=[0.5])
    assert contour.pixels == 1600
    assert contour.points.max() == 39


def test_heat_is_drawn_where_it_is():
    heat = np.zeros((8, 8))
    heat[1, 6] = 1  # top right
    image = np.full((48, 48), 128, np.uint8)
    drawn = draw_overlay(image, heat, contours=False, boxes=False).astype(int)
    changed = np.abs(drawn - 128).sum(2) > 30
    rows, columns = np.nonzero(changed)
    assert 0 < rows.max() < 112 < columns.min()


def test_opacity_grows_with_heat():
    image = np.full((48, 48), 128, np.uint8)
    hottest = heat_colours(np.array(1.0)).astype(float)
    drawn = draw_overlay(image, np.ones((6, 6)), opacity=0.5, contours=False, boxes=False)
    assert np.abs(drawn[100, 100] - (128 + hottest) / 2).max() <= 1
    hidden = draw_overlay(image, np.ones((6, 6)), opacity=0.0, contours=False, boxes=False)
    assert (hidden == 128).all()


def test_boxes_and_contours_are_drawn():
    image = np.full((48, 48), 128, np.uint8)
    plain = draw_overlay(image, disc(6, 24), contours=False, boxes=False)
    outlined = draw_overlay(image, disc(6, 24), boxes=False)
    boxed = draw_overlay(image, disc(6, 24), contours=False)
    changed = (plain != outlined).any(2)
    x, y = find_contours(scale_heat(disc(6, 24), 224), levels=[0.5])[0].points.T
    assert changed[y, x].all()
    assert not changed[112, 112]
    assert not changed[: y.min() - 2].any()
    box = find_boxes(scale_heat(disc(6, 24), 224))[0]
    frame = boxed[box.y, box.x + 20 : box.x + box.width - 20]
    assert (frame == heat_colours(np.array(box.heat))).all()


def test_the_drawing_scales():
    image = np.full((48, 48), 128, np.uint8)
    assert draw_overlay(image, disc(6, 24), size=448).shape == (448, 448, 3)
    stripes = np.tile(np.array([0, 255], np.uint8), (448, 224))  # finer than the result
    assert np.abs(draw_overlay(stripes, np.zeros((2, 2))).astype(int) - 127).max() <= 1
    tiny = draw_overlay(np.zeros((1, 1), np.uint8), np.ones((1, 1)), size=1)
    assert tiny.shape == (1, 1, 3)


def test_grey_colour_tensors_and_arrays():
    rng = np.random.default_rng(0)
    grey, colour = (rng.integers(0, 255, shape, dtype=np.uint8) for shape in [(5, 4), (3, 5, 4)])
    assert np.array_equal(as_rgb(grey), as_rgb(torch.from_numpy(grey)[None]))
    assert np.array_equal(as_rgb(colour)[..., 2], colour[2])
    heat = torch.rand(6, 6)
    assert np.array_equal(draw_overlay(grey, heat), draw_overlay(grey, heat.numpy()))


def test_scaling_equals_that_of_heat():
    """OpenCV and torch place the grid alike, so that a picture shows what is measured."""
    for grid in (2, 6, 7, 24):
        signed = torch.rand(1, grid, grid)
        assert np.allclose(to_heat(signed, 224)[0], scale_heat(signed[0], 224), atol=1e-5)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((4, 4), np.float32),
        np.zeros((4, 4), np.uint16),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((1, 1, 4, 4), np.uint8),
        np.zeros((0, 4), np.uint8),
    ],
)
def test_pictures_of_another_kind(image):
    with pytest.raises(UserError, match=r"picture of bytes, \(H, W\) or .* but got"):
        draw_overlay(image, np.ones((2, 2)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.5])
@pytest.mark.parametrize(
    "function",
    [find_contours, find_boxes, lambda heat: draw_overlay(np.zeros((4, 4), np.uint8), heat)],
)
def test_heat_that_is_none(function, value):
    heat = np.ones((4, 4))
    heat[2, 1] = value
    with pytest.raises(UserError, match="finite heat that is not negative but got"):
        function(heat)


def test_other_shapes_and_sizes():
    with pytest.raises(UserError, match=r"one map of shape \(H, W\) but got \(1, 4, 4\)"):
        find_contours(np.ones((1, 4, 4)))
    with pytest.raises(UserError, match="size from 1 to 8192 pixels"):
        draw_overlay(np.zeros((4, 4), np.uint8), np.ones((4, 4)), size=0)
