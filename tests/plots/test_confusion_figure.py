import numpy as np
import pytest

from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.errors import UserError
from fer_lightning.plots.answers import confusion_figure


def test_rows_are_shares_of_the_true_class_with_counts(complete):
    figure = confusion_figure(np.array([[30, 10], [1, 4]]), ("cat", "dog"), "cnn · drawn · 0123")
    matrix, bars = figure.axes
    assert np.asarray(matrix.images[0].get_array()).tolist() == [[0.75, 0.25], [0.2, 0.8]]
    words = [text.get_text() for text in matrix.texts]
    assert words == ["75", "30", "25", "10", "20", "1", "80", "4"]
    assert [label.get_text() for label in matrix.get_yticklabels()] == ["cat", "dog"]
    assert [bar.get_width() for bar in bars.patches] == [0.75, 0.8]
    assert [text.get_text() for text in bars.texts] == ["0.75\nn = 40", "0.80\nn = 5"]
    assert "Accuracy 0.756, mean recall 0.775 over 2" in figure.get_supxlabel().replace("\n", " ")
    complete(figure)


@pytest.mark.parametrize("number", [1, 7, 8, 10])
def test_every_number_of_classes_fits(number, complete):
    counts = np.random.default_rng(0).integers(0, 2000, (number, number))
    names = [*FER_CLASSES, "contempt", "automobile", "airplane"]
    figure = confusion_figure(counts, names[:number], "t")
    assert len(figure.axes[0].texts) == 2 * number**2
    complete(figure)


def test_a_class_without_images_and_no_images_at_all(complete):
    counts = np.array([[3, 0], [0, 0]])
    figure = confusion_figure(counts, ("cat", "dog"))
    assert [text.get_text() for text in figure.axes[0].texts][-1] == "no images"
    assert "mean recall 1.000 over 1" in figure.get_supxlabel().replace("\n", " ")
    complete(figure)
    empty = confusion_figure(0 * counts, ("cat", "dog"))
    assert empty.get_supxlabel() == "No predictions."
    complete(empty)


def test_letters_are_light_on_dark_and_dark_on_light():
    colours = [t.get_color() for t in confusion_figure(np.eye(2, dtype=int), "ab").axes[0].texts]
    assert colours == ["white"] * 2 + ["black"] * 4 + ["white"] * 2


@pytest.mark.parametrize("counts", [np.ones((2, 3), int), -np.eye(2, dtype=int)])
def test_counts_that_are_none_are_refused(counts):
    with pytest.raises(UserError, match=r"counts of shape \(2, 2\), none negative"):
        confusion_figure(counts, ("cat", "dog"))
