"""Figures of a study: accuracy by fraction, several models over epochs, the same faces."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection

from fer_lightning.errors import UserError
from fer_lightning.plots.curves import Level, Panel, accuracy_by_fraction, goes_on, model_curves
from fer_lightning.plots.galleries import Looked, overlay, same_faces
from fer_lightning.plots.style import model_look

LEVELS = [Level(0.3, 0.5, 0.47, 0.53, (0.49, 0.51)), Level(1.0, 0.6, 0.58, 0.62, (0.6,))]
LEAD = [Level(0.3, 9.0, 6.0, 12.0), Level(1.0, 15.0, 12.0, 18.0)]
LINE = (np.arange(20.0), np.linspace(0.2, 0.6, 20))


def test_every_seed_is_a_dot_and_intervals_have_their_length(complete):
    figure = accuracy_by_fraction({"cnn": LEVELS, "vit": LEVELS}, LEAD, {0.3: 9.2}, ("cnn", "vit"))
    left, right = figure.axes
    dots = [c for c in left.collections if isinstance(c, PathCollection)]
    assert [sorted(c.get_offsets()[:, 1].tolist()) for c in dots] == [[0.49, 0.51, 0.6]] * 2
    bars = [s for c in left.collections if hasattr(c, "get_segments") for s in c.get_segments()]
    assert sorted(round(float(np.ptp(s[:, 1])), 3) for s in bars) == [0.04, 0.04, 0.06, 0.06]
    assert right.get_ylabel() == "cnn minus vit, points"
    assert any(
        line.get_ydata().tolist() == [9.2] for line in right.lines if len(line.get_ydata()) == 1
    )
    complete(figure)


def test_leads_of_the_paper_at_fractions_beyond_ours_are_left_out():
    figure = accuracy_by_fraction({"cnn": LEVELS[:1]}, LEAD[:1], {0.3: 9.2, 0.6: 16.5})
    drawn = [line.get_ydata() for line in figure.axes[1].lines if line.get_marker() == "D"]
    assert [line.tolist() for line in drawn] == [[9.2]]


def test_a_lead_ends_at_100_points_with_arrows_where_its_interval_goes_on():
    lead = [Level(0.3, 3.6, -1400.0, 1500.0), Level(1.0, 20.0, -130.0, 60.0)]
    right = accuracy_by_fraction({"cnn": LEVELS, "vit": LEVELS}, lead).axes[1]
    assert -125 < right.get_ylim()[0] <= -100
    assert 100 <= right.get_ylim()[1] < 125
    arrows = [(line.get_marker(), *line.get_xydata().tolist()) for line in right.lines]
    drawn = [arrow for arrow in arrows if arrow[0] in "^v"]
    assert drawn == [("^", [30, 100]), ("v", [30, -100]), ("v", [100, -100])]
    assert goes_on(lead)
    assert not goes_on(LEAD)


def test_one_model_has_no_second_panel_and_none_says_so(texts, complete):
    assert len(accuracy_by_fraction({"cnn": LEVELS}).axes) == 1
    empty = accuracy_by_fraction({})
    assert "no runs" in texts(empty)
    complete(empty)


@pytest.mark.parametrize("panels", [1, 2, 3, 4, 5])
def test_any_number_of_panels_fits(panels, complete, texts):
    several = [
        Panel(f"{k} % of the training images", {"cnn": [LINE, LINE], "vit": []}, {"chance": 0.25})
        for k in range(panels)
    ]
    figure = model_curves(several, ["cnn", "vit"], "accuracy", "a title", "a caption")
    visible = [axes for axes in figure.axes if axes.get_visible()]
    assert len(visible) == panels
    assert all(len(axes.lines) == 3 for axes in visible)  # two runs and one level
    assert "chance" in texts(figure)
    complete(figure)


def test_ratios_are_drawn_around_1_and_not_beyond_all_bounds(complete):
    wild = (np.arange(3.0), np.array([1e8, 2.0, np.nan]))
    figure = model_curves([Panel("LFR", {"cnn": [wild]}, {"even": 1.0}, log=True)], ["cnn"])
    low, high = figure.axes[0].get_ylim()
    assert low < 1 < high < 100
    complete(figure)


def test_models_without_numbers_are_said_to_have_none(texts):
    assert "not measured" in texts(model_curves([Panel("LSI", {"cnn": []}, {})], ["cnn"]))


def test_looks_differ_in_colour_and_mark():
    looks = [model_look(k) for k in range(7)]
    assert len({look.colour for look in looks}) == len({look.marker for look in looks}) == 7


@pytest.mark.parametrize("models", [1, 2, 3, 6])
def test_same_faces_fit_for_any_number_of_models(models, complete, texts):
    rng = np.random.default_rng(0)
    faces = rng.integers(0, 255, (3, 48, 48), np.uint8)
    looked = Looked(rng.random((3, 6, 6)), np.array([0, 1, 1]), np.array([0.9, 0.5, 0.4]))
    names = {f"model {k}": looked for k in range(models)}
    figure = same_faces(faces, np.array([0, 1, 0]), names, ("happy", "surprise"), "a title")
    found = texts(figure)
    assert found.count("✓ happy 90 %") == models
    assert found.count("✗ surprise 40 %") == models
    complete(figure)


def test_colour_faces_are_shown_too():
    faces = np.zeros((1, 32, 32, 3), np.uint8)
    looked = Looked(np.ones((1, 8, 8)), np.array([0]), np.array([1.0]))
    assert same_faces(faces, np.array([0]), {"a": looked}, ("cat",)).axes


def test_maps_of_other_images_are_refused():
    looked = Looked(np.ones((2, 8, 8)), np.array([0, 0]), np.array([1.0, 1.0]))
    with pytest.raises(UserError, match="as many faces as maps of vit"):
        same_faces(np.zeros((1, 8, 8), np.uint8), np.array([0]), {"vit": looked}, ("cat",))


def test_overlay_is_hot_where_the_heat_is():
    heat = np.zeros((6, 6))
    heat[0, 0] = 1
    picture = overlay(np.full((48, 48), 100, np.uint8), heat)
    assert picture.shape == (96, 96, 3)
    assert picture[0, 0].max() > 150
    assert picture[60:, 60:].max() == 100
