import math

import numpy as np
import pytest
import torch
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from fer_lightning.errors import UserError
from fer_lightning.look.embedding import embedding_quality, tsne


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


def clusters(per_class: int = 20, gap: float = 12.0) -> tuple[torch.Tensor, torch.Tensor]:
    labels = torch.arange(3).repeat_interleave(per_class)
    noise = torch.randn(len(labels), 10, generator=torch.Generator().manual_seed(0))
    return torch.eye(10)[labels] * gap + noise, labels


def test_separate_clusters_stay_separate() -> None:
    features, labels = clusters()
    points = tsne(features, perplexity=10, max_iter=300)
    assert points.shape == (60, 2)
    assert points.dtype == torch.float32
    quality = embedding_quality(features, labels, points)
    assert quality["knn_features"] == quality["knn_points"] == 1
    assert quality["silhouette_points"] > 0.5
    assert quality["trustworthiness"] > 0.9


def test_the_seed_decides() -> None:
    features, _ = clusters()
    first, again = (tsne(features, perplexity=10, max_iter=250, seed=1) for _ in range(2))
    assert torch.equal(first, again)


@pytest.mark.parametrize("neighbours", [1, 5])
def test_knn_is_leave_one_out(neighbours: int) -> None:
    features, labels = clusters(gap=1.5)
    features, labels = features[:40], labels[:40]  # two classes, so that no vote is tied
    quality = embedding_quality(features, labels, features[:, :2], neighbours)
    model = KNeighborsClassifier(neighbours)
    expected = cross_val_score(model, features.numpy(), labels.numpy(), cv=LeaveOneOut()).mean()
    assert 0.5 < expected < 1
    assert quality["knn_features"] == pytest.approx(expected)


def test_a_tie_goes_to_the_nearest() -> None:
    # Neighbours of the point at 0 by distance: classes 1, 0, 0, 1. Two votes each, 1 is nearest.
    features = torch.tensor(
        [[0.0], [0.1], [-0.2], [0.3], [-0.4], [9.0], [9.1], [9.2], [9.3], [9.4]]
    )
    labels = torch.tensor([1, 1, 0, 0, 1, 2, 2, 2, 2, 2])
    moved = labels.clone()
    moved[0] = 0
    right = embedding_quality(features, labels, features, neighbours=4)["knn_features"]
    wrong = embedding_quality(features, moved, features, neighbours=4)["knn_features"]
    assert right > wrong


def test_the_picture_can_flatter_the_features() -> None:
    features, labels = clusters(gap=0.0)
    flattering = torch.stack([labels * 10.0, torch.zeros(len(labels))], dim=1)
    quality = embedding_quality(features, labels, flattering)
    assert quality["silhouette_points"] == 1
    assert quality["silhouette_features"] < 0.1
    assert quality["trustworthiness"] < 0.7


@pytest.mark.parametrize("classes", [torch.zeros(60), torch.arange(60)])
def test_silhouette_needs_two_classes_and_a_pair(classes: torch.Tensor) -> None:
    features, _ = clusters()
    quality = embedding_quality(features, classes, features[:, :2])
    assert math.isnan(quality["silhouette_features"])
    assert math.isnan(quality["silhouette_points"])
    assert quality["knn_features"] == float(len(classes.unique()) == 1)


def test_equal_features_have_no_neighbours() -> None:
    labels = torch.arange(2).repeat_interleave(20)
    features = torch.full((40, 6), 0.7)
    points = tsne(features, perplexity=5, max_iter=250)
    assert points.isfinite().all()
    quality = embedding_quality(features, labels, points)
    for name in ("knn_features", "silhouette_features", "trustworthiness"):
        assert math.isnan(quality[name]), name
    assert np.isfinite(quality["knn_points"])


def test_scalar_features_can_be_laid_out() -> None:
    points = tsne(torch.linspace(0, 1, 40)[:, None], perplexity=5, max_iter=250)
    assert points.isfinite().all()
    assert points.std() > 0


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(UserError, match="got 30 and 30 samples"):
        tsne(torch.rand(30, 4))
    with pytest.raises(UserError, match="perplexity of at least 1"):
        tsne(torch.rand(30, 4), perplexity=0)
    with pytest.raises(UserError, match="max_iter of at least 250"):
        tsne(torch.rand(60, 4), max_iter=100)
    with pytest.raises(UserError, match="more than 10 samples for 5 neighbours, but got 10"):
        embedding_quality(torch.rand(10, 4), torch.zeros(10), torch.rand(10, 2))


def test_features_that_are_no_features_are_refused() -> None:
    labels, points = torch.zeros(40), torch.rand(40, 2)
    for wrong in (torch.rand(40), torch.rand(40, 2, 2), torch.full((40, 2), torch.nan)):
        with pytest.raises(UserError, match="finite features of shape"):
            tsne(wrong)
        with pytest.raises(UserError, match="finite features of shape"):
            embedding_quality(wrong, labels, points)
    with pytest.raises(UserError, match="as many labels and points"):
        embedding_quality(torch.rand(40, 4), labels[:39], points)
