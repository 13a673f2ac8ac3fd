import numpy as np
from matplotlib.figure import Figure

from fer_lightning.plots.faces import border, hero, outline


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
    axes = Figure().subplots()
    axes.imshow(np.zeros((8, 8)))
    outline(axes, mask, "red")
    (lines,) = axes.collections
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
