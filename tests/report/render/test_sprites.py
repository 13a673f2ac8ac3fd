import base64
import io

import numpy as np
import pytest
from PIL import Image

from fer_lightning.errors import UserError
from fer_lightning.report.render import html_scatter
from fer_lightning.report.render.html_scatter import face_sprite, heat_bytes


def opened(uri):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))))


@pytest.mark.parametrize("colours", [(), (3,)])
def test_every_face_stands_in_its_place(colours):
    faces = np.random.default_rng(0).integers(0, 256, (7, 5, 4, *colours), dtype=np.uint8)
    sprite = face_sprite(faces)
    picture = opened(sprite.uri)
    assert picture.shape == (15, 12, *colours)
    for i, face in enumerate(faces):
        y, x = i // sprite.columns * 5, i % sprite.columns * 4
        np.testing.assert_array_equal(picture[y : y + 5, x : x + 4], face)


def test_large_faces_are_made_smaller():
    faces = np.full((3, 224, 112, 3), 90, np.uint8)
    sprite = face_sprite(faces)
    assert (sprite.width, sprite.height) == (48, 96)
    np.testing.assert_array_equal(opened(sprite.uri)[:96, :48], faces[0, :96, :48])


def test_a_large_sprite_is_written_with_loss(monkeypatch):
    monkeypatch.setattr(html_scatter, "LOSSLESS", 100)
    faces = np.tile(np.arange(48, dtype=np.uint8) * 5, (4, 48, 1))
    sprite = face_sprite(faces)
    assert sprite.uri.startswith("data:image/webp;")
    assert np.abs(opened(sprite.uri)[:48, :48, 0].astype(int) - faces[0]).mean() < 6


def test_no_faces_no_sprite():
    assert face_sprite(np.zeros((0, 48, 48), np.uint8)) is None


@pytest.mark.parametrize(
    "faces", [np.zeros((2, 8, 8)), np.zeros((8, 8), np.uint8), np.zeros((2, 8, 8, 1), np.uint8)]
)
def test_other_arrays_are_refused(faces):
    with pytest.raises(UserError, match="expected faces as uint8 of shape"):
        face_sprite(faces)


def test_heat_is_clipped_and_fine_maps_are_averaged():
    height, width, text = heat_bytes(np.array([[[-1.0, np.nan, 2.0]], [[0.0, 0.2, 1.0]]]))
    assert (height, width) == (1, 3)
    assert list(base64.b64decode(text)) == [0, 0, 255, 0, 51, 255]
    fine = np.zeros((1, 48, 48))
    fine[0, :3, :3] = 1
    height, width, text = heat_bytes(fine)
    assert (height, width) == (16, 16)
    assert list(base64.b64decode(text)) == [255] + [0] * 255
