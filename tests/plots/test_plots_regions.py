import numpy as np

from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.masks import template
from fer_lightning.plots.faces import border, hero, region_figure


def test_region_figure_marks_each_region_once(complete):
    face = drawn_faces(70).images[:, 0].mean(0)
    figure = region_figure(face, template(), "mean face")
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["eyes", "eyebrow", "nose", "mouth", "face"]
    tints = [np.asarray(image.get_array()) for image in figure.axes[1].images[1:]]
    assert len(tints) == 4  # the oval is not filled
    for tint, name in zip(tints, names, strict=False):
        assert np.array_equal(tint[..., 3] > 0, template()[name])
    assert len(figure.axes[1].collections) == 5
    complete(figure)


def test_a_border_encloses_its_region_and_holes():
    mask = np.zeros((5, 6), bool)
    mask[1:4, 2:5] = True
    mask[2, 3] = False
    sides = border(mask)
    assert len(sides) == 12 + 4
    assert sides.min(axis=(0, 1)).tolist() == [2, 1]
    assert sides.max(axis=(0, 1)).tolist() == [5, 4]
    assert (np.abs(sides[:, 1] - sides[:, 0]).sum(1) == 1).all()


def test_outlines_lie_on_the_pixels_of_the_face():
    mask = np.zeros((8, 8), bool)
    mask[2:4, 5:7] = True
    lines = region_figure(np.zeros((8, 8)), {"nose": mask}).axes[1].collections[0]
    ends = np.concatenate([path.vertices for path in lines.get_paths()])
    assert ends.min(0).tolist() == [4.5, 1.5]  # imshow's pixel k reaches from k - 0.5 to k + 0.5
    assert ends.max(0).tolist() == [6.5, 3.5]


def test_hero_has_two_rows_of_the_same_faces(complete):
    large, small = np.zeros((3, 96, 96), np.uint8), np.zeros((3, 48, 48), np.uint8)
    mask = np.zeros((3, 48, 48), bool)
    mask[:, 10:20, 10:20] = True
    figure = hero(large, small, {"eyes": mask, "mouth": mask}, ("sad", "fear", "happy"))
    axes = figure.axes[0]
    places = [image.get_extent() for image in axes.images]
    assert len(places) == 6
    assert [p[0] for p in places[::2]] == [p[0] for p in places[1::2]]  # one below the other
    assert len(axes.collections) == 6
    assert [text.get_text() for text in axes.texts][:3] == ["sad", "fear", "happy"]
    complete(figure)
