import math

import numpy as np
import pytest
from scipy.stats import binomtest

from fer_lightning.errors import UserError
from fer_lightning.plots.answers import binned, reliability_diagram


def test_bins_against_hand_and_scipy():
    confidences = np.array([0.05, 0.1, 0.55, 0.6, 0.9, 1.0, 1.0])
    right = np.array([0, 1, 1, 0, 1, 1, 0], bool)
    bins = binned(confidences, right, 2)
    assert bins.images.tolist() == [2, 5]
    np.testing.assert_allclose(bins.confidence, [0.075, 0.81])
    np.testing.assert_allclose(bins.accuracy, [0.5, 0.6])
    for k, (hits, n) in enumerate(((1, 2), (3, 5))):
        wilson = binomtest(hits, n).proportion_ci(0.95, "wilson")
        np.testing.assert_allclose([bins.low[k], bins.high[k]], wilson, atol=1e-4)


def test_an_empty_bin_is_nan_and_an_edge_belongs_to_the_upper_bin():
    bins = binned(np.array([0.5, 0.5]), np.array([True, True]), 4)
    assert bins.images.tolist() == [0, 0, 2, 0]
    assert np.isnan(bins.accuracy).tolist() == [True, True, False, True]


def test_diagram_and_histogram_show_the_bins(complete):
    rng = np.random.default_rng(0)
    confidences = rng.uniform(0.2, 1, 500)
    right = rng.random(500) < confidences
    figure = reliability_diagram(confidences, right, 0.031, 0.024, 10, "cnn · FER-2013 · 0123")
    diagram, histogram = figure.axes
    bins = binned(confidences, right, 10)
    assert [bar.get_height() for bar in histogram.patches] == bins.images.tolist()
    full = bins.images > 0
    np.testing.assert_allclose(diagram.lines[1].get_xdata(), bins.confidence[full])
    np.testing.assert_allclose(diagram.lines[1].get_ydata(), bins.accuracy[full])
    caption = figure.get_supxlabel().replace("\n", " ")
    assert "ECE 0.031" in caption
    assert "with these 500 confidences would score 0.024" in caption
    complete(figure)


def test_nan_is_left_out_and_nothing_is_said(texts, complete):
    some = reliability_diagram(np.array([0.7, math.nan]), np.array([True, True]), 0.3, math.nan)
    assert sum(bar.get_height() for bar in some.axes[1].patches) == 1
    assert "score n/a" in some.get_supxlabel().replace("\n", " ")
    empty = reliability_diagram(np.zeros(0), np.zeros(0, bool), math.nan, math.nan)
    assert "no predictions" in texts(empty)
    complete(empty)


def test_other_numbers_of_answers_are_refused():
    with pytest.raises(UserError, match="as many confidences as right but got 2 and 1"):
        reliability_diagram(np.zeros(2), np.zeros(1, bool), 0, 0)
