import numpy as np
import pytest

from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.errors import UserError
from fer_lightning.plots.style import CLASS_COLOURS, CLASS_MARKERS
from fer_lightning.plots.tsne import tsne_figure

QUALITY = {"knn_features": 0.512, "knn_points": 0.49, "silhouette_features": float("nan")}


def drawn(figure):
    """How many marks are within finite coordinates."""
    places = np.concatenate(
        [dots.get_offsets().filled(np.nan) for dots in figure.axes[0].collections]
    )
    return int(np.isfinite(places).all(axis=1).sum())


def test_every_point_is_drawn_and_every_class_named(complete):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 7, 300)
    figure = tsne_figure(
        rng.normal(size=(300, 2)), labels, FER_CLASSES, QUALITY, "cnn · drawn · 0123"
    )
    assert drawn(figure) == 300
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == [f"{name} ({(labels == k).sum()})" for k, name in enumerate(FER_CLASSES)]
    complete(figure)


def test_classes_differ_in_colour_and_in_shape():
    assert len(set(CLASS_COLOURS)) == len(set(CLASS_MARKERS)) == 10
    figure = tsne_figure(np.eye(2), np.array([0, 1]), ("cat", "dog"), {})
    handles = figure.legends[0].legend_handles
    assert len({handle.get_color() for handle in handles}) == 2
    assert len({handle.get_marker() for handle in handles}) == 2


def test_quality_stands_in_the_caption_and_nan_is_not_a_number():
    labels = np.array([0, 0, 0, 1])
    caption = tsne_figure(np.zeros((4, 2)), labels, ("cat", "dog"), QUALITY).get_supxlabel()
    caption = caption.replace("\n", " ")
    assert "kNN accuracy 0.51 in feature space, 0.49 in this plane (largest class 0.75)" in caption
    assert "Silhouette n/a in feature space" in caption
    assert "Trustworthiness n/a" in caption


def test_one_class_ten_classes_nan_and_no_points(texts, complete):
    points = np.array([[0.0, 1.0], [np.nan, np.nan], [2.0, 2.0]])
    figure = tsne_figure(points, np.zeros(3, int), ("cat",), QUALITY)
    assert drawn(figure) == 2
    complete(figure)
    complete(
        tsne_figure(points, np.array([0, 4, 9]), [f"long name {k}" for k in range(10)], QUALITY)
    )
    empty = tsne_figure(np.zeros((0, 2)), np.zeros(0, int), FER_CLASSES, {})
    assert "no points" in texts(empty)
    complete(empty)


def test_points_that_are_not_in_a_plane_are_refused():
    with pytest.raises(UserError, match=r"shape \(N, 2\) but got \(4, 3\)"):
        tsne_figure(np.zeros((4, 3)), np.zeros(4, int), ("cat",), {})
    with pytest.raises(UserError, match="as many labels as points but got 3 and 4"):
        tsne_figure(np.zeros((4, 2)), np.zeros(3, int), ("cat",), {})
