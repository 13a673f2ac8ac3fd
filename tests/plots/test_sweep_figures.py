"""Figures of a sweep: parallel coordinates, importance, runs over epochs."""

import math

import numpy as np
import pytest
from matplotlib.colors import to_hex

from fer_lightning.plots.style import BLACK
from fer_lightning.plots.sweep import (
    Axis,
    Bar,
    Curve,
    importance_figure,
    parallel_coordinates,
    sweep_curves,
)

LR = Axis("lr", [1e-5, 1e-4, 1e-3, 1e-2], log=True)
NET = Axis(
    "net", ["ViT patch_size=4", "HybridViT", "ViT patch_size=4", "a name that is far too long"]
)
ACC = Axis("val/acc", [0.2, 0.5, 0.4, 0.3])


def runs_of(figure):
    """Lines over more than one axis, in the order in which they are drawn."""
    return [line for line in figure.axes[0].lines if np.ptp(line.get_xdata()) >= 1]


def test_places_on_an_axis():
    assert LR.places().tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert ACC.places().tolist() == pytest.approx([0, 1, 2 / 3, 1 / 3])
    assert NET.places().tolist() == pytest.approx([1 / 6, 1 / 2, 1 / 6, 5 / 6])
    assert Axis("one", [3.0, 3.0]).places().tolist() == [0.5, 0.5]


def test_ticks_are_values_few_or_round():
    assert list(LR.ticks().values()) == ["1e-05", "0.0001", "0.001", "0.01"]
    many = Axis("lr", np.geomspace(2e-5, 7e-3, 20).tolist(), log=True)
    assert list(many.ticks().values()) == ["0.0001", "0.001"]
    assert next(iter(Axis("x", np.linspace(0, 1, 20).tolist()).ticks().values())) == "0"
    assert next(reversed(NET.ticks().values())).endswith("…")


@pytest.mark.parametrize(("maximize", "best"), [(True, 0.5), (False, 0.2)])
def test_the_best_run_is_black_and_on_top(maximize, best, complete):
    figure = parallel_coordinates([LR, NET, ACC], maximize, "title", "caption", [True] * 4)
    lines = runs_of(figure)
    assert len(lines) == 4
    assert to_hex(lines[-1].get_color()) == BLACK
    assert sum(to_hex(line.get_color()) == BLACK for line in lines) == 1
    assert lines[-1].get_ydata()[-1] == pytest.approx((best - 0.2) / 0.3)
    complete(figure)


@pytest.mark.parametrize("parameters", [1, 3, 7])
def test_any_number_of_axes_fits(parameters, complete, texts):
    axes = [Axis(f"parameter{k}", [0.1, 0.2, 0.3, 0.4]) for k in range(parameters)]
    figure = parallel_coordinates([*axes, ACC])
    assert "parameter0" in texts(figure)
    complete(figure)


def test_runs_over_epochs_count_from_1_and_a_cross_ends_those_stopped():
    axes = sweep_curves([Curve([0.1, 0.2, 0.3]), Curve([0.1], True)], "val/acc").axes[0]
    drawn = [(line.get_marker(), line.get_xdata().tolist()) for line in axes.lines]
    assert drawn == [(".", [1]), ("x", [1]), ("", [1, 2, 3])]


def test_nothing_to_draw_says_so(texts):
    assert "no runs" in texts(parallel_coordinates([Axis("lr", []), Axis("acc", [])]))
    assert "nothing varied" in texts(importance_figure([], "val/acc"))
    assert "no epochs" in texts(sweep_curves([], "val/acc"))


def test_importance_beside_its_direction(complete, texts):
    bars = [Bar("model.lr", 0.7, 0.5, -0.6), Bar("net", 0.3, 0.1, math.nan)]
    figure = importance_figure(bars, "val/acc", "title", "caption")
    left, right = figure.axes
    assert [bar.get_width() for bar in left.patches] == [0.7, 0.3]
    assert [bar.get_width() for bar in right.patches] == [-0.6]
    assert "no order" in texts(figure)
    complete(figure)


def test_a_stopped_run_ends_with_a_cross(complete, texts):
    curves = [Curve([0.1, 0.3, 0.5]), Curve([0.1, 0.2], stopped=True), Curve([0.4]), Curve([])]
    figure = sweep_curves(curves, "val/acc")
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in crosses] == [(2, 0.2)]
    assert "stopped early" in texts(figure)
    assert "stopped early" not in texts(sweep_curves(curves[:1], "val/acc"))
    complete(figure)
