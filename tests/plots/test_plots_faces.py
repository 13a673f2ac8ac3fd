from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.errors import UserError
from fer_lightning.plots.faces import sheet


def pixels(figure: Figure) -> np.ndarray:
    return np.asarray(figure.axes[0].images[0].get_array())


def test_sheet_has_a_row_a_class_and_names_the_data(complete) -> None:
    faces = drawn_faces(70)
    figure = sheet(faces, per_class=4)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(FER_CLASSES)
    assert figure.get_suptitle() == f"{faces.name} · {faces.fingerprint}"
    complete(figure)
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


@pytest.mark.parametrize("per_class", [1, 2, 10, 40])
def test_images_are_never_larger_than_an_inch(per_class: int, complete) -> None:
    figure = sheet(drawn_faces(70), per_class)
    width, height = figure.get_size_inches()
    assert 3.5 <= width <= 7.0
    assert height < 7 * 1.1 + 0.6
    complete(figure)


def test_regions_are_outlined_where_the_masks_are() -> None:
    faces = drawn_faces(7)
    figure = sheet(faces, per_class=1, regions=True)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == list(faces.mask_regions)
    for lines, name in zip(figure.axes[0].collections, names, strict=True):
        assert isinstance(lines, LineCollection)
        ends = np.concatenate([path.vertices for path in lines.get_paths()])
        for row in range(7):
            mask = faces.masks[faces.labels == row][0, faces.mask_regions.index(name)]
            y, x = np.nonzero(mask)
            of_face = ends[(ends[:, 1] >= 50 * row - 0.5) & (ends[:, 1] <= 50 * row + 47.5)]
            assert of_face.min(0).tolist() == [x.min() - 0.5, 50 * row + y.min() - 0.5]
            assert of_face.max(0).tolist() == [x.max() + 0.5, 50 * row + y.max() + 0.5]


def test_regions_of_a_set_without_masks_are_refused() -> None:
    with pytest.raises(UserError, match="exact region masks but drawn faces has none"):
        sheet(drawn_faces(7, with_masks=False), regions=True)
