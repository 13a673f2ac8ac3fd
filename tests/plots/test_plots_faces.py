from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.regions import template
from fer_lightning.plots.faces import region_figure, sheet


def pixels(figure: Figure) -> np.ndarray:
    return np.asarray(figure.axes[0].images[0].get_array())


def test_sheet_has_a_row_a_class_and_names_the_data() -> None:
    faces = drawn_faces(70)
    figure = sheet(faces, per_class=4)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(FER_CLASSES)
    assert faces.name in axes.get_title()
    assert faces.fingerprint in axes.get_title()
    canvas = pixels(figure)
    assert canvas.shape == (7 * 50 - 2, 4 * 50 - 2)
    for row in range(7):  # every tile is an image of its class
        tile = canvas[50 * row : 50 * row + 48, 50:98]
        match = (faces.images[:, 0] == tile).all((1, 2))
        assert faces.labels[match].tolist() == [row]


def test_sheet_is_the_same_for_the_same_seed_only() -> None:
    faces = drawn_faces(70)
    assert np.array_equal(pixels(sheet(faces, 3)), pixels(sheet(faces, 3)))
    assert not np.array_equal(pixels(sheet(faces, 3)), pixels(sheet(faces, 3, seed=1)))


def test_sheet_of_colour_images_with_too_few_in_a_class() -> None:
    faces = drawn_faces(14)
    canvas = pixels(sheet(replace(faces, images=faces.images.repeat(3, 1)), per_class=3))
    assert canvas.shape == (348, 148, 3)
    assert (canvas[:48, 100:] == 255).all()  # two angry faces, the third place is blank


def test_region_figure_marks_each_region_once() -> None:
    face = drawn_faces(70).images[:, 0].mean(0)
    figure = region_figure(face, template(), "mean face")
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["eyes", "eyebrow", "nose", "mouth", "face"]
    tints = [np.asarray(image.get_array()) for image in figure.axes[1].images[1:]]
    assert len(tints) == 4  # the oval is not filled
    for tint, name in zip(tints, names, strict=False):
        assert np.array_equal(tint[..., 3] > 0, template()[name])
    assert len(figure.axes[1].collections) == 5
