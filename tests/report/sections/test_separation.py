"""The same numbers as the callbacks' own."""

import math

import numpy as np
import pytest
import torch

from fer_lightning.look.embedding import embedding_quality
from fer_lightning.report.sections.embedding import separation


@pytest.mark.parametrize("spread", [0.1, 1.0, 5.0])
def test_numbers_agree_with_those_of_a_run(spread):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 7, 120)
    features = (np.eye(7)[labels] * 2 + rng.normal(0, spread, (120, 7))).astype(np.float32)
    points = (features[:, :2] + rng.normal(0, 0.3, (120, 2))).astype(np.float32)
    ours = separation(features, labels, points)
    theirs = embedding_quality(*map(torch.from_numpy, (features, labels, points)))
    assert ours == pytest.approx(theirs, abs=1e-4)


def test_without_meaning_there_is_no_number():
    few = separation(np.ones((4, 2)), np.arange(4), np.ones((4, 2)))
    assert all(math.isnan(value) for value in few.values())
    rng = np.random.default_rng(1)
    rows = rng.random((30, 3))
    equal = separation(np.ones((30, 3)), np.arange(30) % 3, rows)
    assert math.isnan(equal["knn_features"])
    assert math.isnan(equal["trustworthiness"])
    assert equal["knn_points"] >= 0
    assert math.isnan(separation(rows, np.zeros(30, int), rows)["silhouette_features"])


def test_a_class_of_one_image_counts_nothing():
    rng = np.random.default_rng(2)
    rows = rng.random((40, 3)).astype(np.float32)
    labels = np.arange(40) % 3
    labels[0] = 6
    ours = separation(rows, labels, rows[:, :2])
    theirs = embedding_quality(*map(torch.from_numpy, (rows, labels, rows[:, :2].copy())))
    assert ours == pytest.approx(theirs, abs=1e-4)
