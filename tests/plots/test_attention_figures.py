import numpy as np
import pytest

from fer_lightning.errors import UserError
from fer_lightning.plots.attention import attention_figure, lit, mosaic, position_figure


def test_a_row_a_face_a_column_a_head_then_mean_and_rollout(complete):
    faces = np.zeros((3, 48, 48), np.uint8)
    figure = attention_figure(
        faces, np.ones((3, 4, 8, 8)), np.ones((3, 8, 8)), ["sad", "fear", "happy"], "vit · 0123"
    )
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words[:7] == ["image", "head 1", "head 2", "head 3", "head 4", "mean", "rollout"]
    assert len(figure.axes[0].images) == 3 * 7
    assert [word for word in words if word in ("sad", "fear", "happy")] == ["sad", "fear", "happy"]
    complete(figure)


def test_the_peak_is_told_in_multiples_of_even_attention():
    heads = np.ones((1, 2, 4, 4))
    heads[0, 1, 0, 0] = 17  # mean 2, peak 17
    figure = attention_figure(np.zeros((1, 8, 8), np.uint8), heads)
    peaks = [t.get_text() for t in figure.axes[0].texts if t.get_text().startswith("max")]
    assert peaks == ["max 1.0", "max 8.5", "max 6.0"]  # the mean of both: 9 over 1.5


def test_the_brightest_patch_lies_where_attention_is():
    attention = np.zeros((2, 2))
    attention[0, 1] = 1
    picture = lit(np.full((48, 48), 100, np.uint8), attention).astype(int).sum(2)
    assert picture.shape == (96, 96)
    assert (picture[:48, 48:] == picture.max()).all()
    assert (picture[48:] < picture.max()).all()
    assert (picture[:, :48] < picture.max()).all()


def test_zero_and_nan_maps_say_so_and_many_heads_fit(texts, complete):
    heads = np.random.default_rng(0).random((2, 12, 14, 14))
    heads[0, 3] = 0
    heads[1, 5, 0, 0] = np.nan
    figure = attention_figure(np.zeros((2, 224, 224, 3), np.uint8), heads)
    assert texts(figure).count("no attention") == 3  # the two heads, and a mean with NaN in it
    complete(figure)


def test_maps_of_other_faces_are_refused():
    with pytest.raises(UserError, match="as many faces as rollout but got 2 and 1"):
        attention_figure(np.zeros((2, 8, 8), np.uint8), np.ones((2, 1, 4, 4)), np.ones((1, 4, 4)))


def similarity(h, w):
    y, x = np.divmod(np.arange(h * w), w)
    return np.exp(-np.hypot(y[:, None] - y, x[:, None] - x))


def test_the_centre_patch_is_shown_and_framed(complete):
    figure = position_figure(similarity(8, 8), (8, 8), "vit · drawn faces · 0123")
    large, small = figure.axes[:2]
    assert large.get_title() == "patch 36 of 64 (row 4, column 4)"
    assert np.array_equal(large.images[0].get_array(), similarity(8, 8)[36].reshape(8, 8))
    assert (large.lines[0].get_xdata()[0], large.lines[0].get_ydata()[0]) == (4, 4)
    corner = np.array(small.patches[0].get_xy())
    shown = np.asarray(small.images[0].get_array().filled(np.nan))
    y, x = np.ceil(corner[::-1]).astype(int)  # the framed block is the centre's map
    assert np.array_equal(shown[y : y + 8, x : x + 8], similarity(8, 8)[36].reshape(8, 8))
    assert large.images[0].get_clim() == small.images[0].get_clim() == (-1, 1)
    complete(figure)


def test_every_patch_has_its_map_in_its_place():
    tiles = mosaic(similarity(3, 2), (3, 2))
    assert tiles.shape == (3 * 4 - 1, 2 * 3 - 1)
    for row in range(3):
        for column in range(2):
            block = tiles[4 * row : 4 * row + 3, 3 * column : 3 * column + 2]
            assert np.array_equal(block, similarity(3, 2)[2 * row + column].reshape(3, 2))
    assert np.isnan(tiles[3]).all()
    complete_grid = position_figure(similarity(3, 2), (3, 2))
    assert complete_grid.axes[0].get_title() == "patch 3 of 6 (row 1, column 1)"


def test_similarities_with_cls_are_refused():
    with pytest.raises(UserError, match=r"shape \(64, 64\) for a grid of 8x8 but got \(65, 65\)"):
        position_figure(np.eye(65), (8, 8))
