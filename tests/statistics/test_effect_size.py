"""Cohen's d against the paper's own column and by hand."""

import math

import numpy as np
import pytest

from fer_lightning.hypotheses.paper import FOCUS
from fer_lightning.statistics import cohen_d, cohen_d_of, cohen_d_paired


@pytest.mark.parametrize("row", FOCUS, ids=lambda row: row.region)
def test_gives_the_papers_column_back(row):
    found = cohen_d_of(row.cnn_mean, row.cnn_sd, row.vit_mean, row.vit_sd)
    assert found == pytest.approx(row.cohen_d, abs=0.004)


def test_of_values_is_that_of_their_mean_and_sd():
    rng = np.random.default_rng(0)
    a, b = rng.normal(2, 1, 50), rng.normal(1, 3, 50)
    expected = (a.mean() - b.mean()) / np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2)
    assert cohen_d(a, b) == pytest.approx(expected)
    assert cohen_d(b, a) == pytest.approx(-expected)


def test_pairs_that_agree_weigh_more_than_the_papers_d_sees():
    a = np.arange(10.0)
    b = a - 1 + np.tile([0.1, -0.1], 5)
    assert abs(cohen_d(a, b)) < 0.5
    assert cohen_d_paired(a - b) > 5


def test_missing_values_are_left_out():
    assert cohen_d_paired(np.array([1.0, 3.0, np.nan])) == pytest.approx(math.sqrt(2))


def test_no_spread():
    assert math.isnan(cohen_d(np.ones(3), np.ones(3)))
    assert cohen_d(np.zeros(3), np.ones(3)) == -math.inf
    assert math.isnan(cohen_d_paired(np.array([1.0])))
