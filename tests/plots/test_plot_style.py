import io

import matplotlib as mpl
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from fer_lightning.data.regions import FACE
from fer_lightning.plots.style import CLASS_COLOURS, DPI, FACE_COLOURS, new_figure, styled, wrapped


def lightness(colour):
    return 0.2126 * to_rgb(colour)[0] + 0.7152 * to_rgb(colour)[1] + 0.0722 * to_rgb(colour)[2]


def test_every_region_has_a_colour():
    assert set(FACE_COLOURS) == set(FACE.order)


def test_class_colours_are_dark_enough_for_white_paper():
    assert max(map(lightness, CLASS_COLOURS)) < 0.72


def test_a_saved_picture_is_fit_to_print():
    file = io.BytesIO()
    new_figure(3.5, 2.0, "title", "caption").savefig(file)
    assert Image.open(file).size[0] == 3.5 * DPI >= 700


def test_settings_come_back_after_an_error():
    @styled
    def broken():
        raise KeyError(mpl.rcParams["font.size"])

    before = mpl.rcParams["font.size"]
    with pytest.raises(KeyError, match=r"8\.0"):
        broken()
    assert mpl.rcParams["font.size"] == before


def test_long_titles_break_without_a_dangling_dot(complete):
    title = "Confusion · small_resnet, epoch 12 · CIFAR-10 subset · 541831816cf6956c"
    figure = new_figure(3.5, 1.0, title)
    lines = figure.get_suptitle().split("\n")
    assert len(lines) == 2
    assert not any(line.endswith("·") for line in lines)
    assert " · ".join(lines) == title
    complete(figure)


def test_own_line_breaks_are_kept():
    assert wrapped("a\n\nb", 3.5, 8) == "a\n\nb"
