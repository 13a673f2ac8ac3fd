"""The face mesh: what it finds."""

import numpy as np
import pytest

from fer_lightning.data import face_mesh
from fer_lightning.data.face_mesh import MESH, MIRROR, FaceMesh, find_landmarks
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.networks import FACE_MESH, network_at_hand
from fer_lightning.errors import UserError

AT_HAND = network_at_hand(FACE_MESH)
needs_network = pytest.mark.skipif(AT_HAND is None, reason="the face network is not at hand")


@pytest.mark.parametrize(
    "images", [np.zeros((2, 48, 48), np.uint8), np.zeros((1, 2, 48, 48), np.uint8), "faces.zip"]
)
def test_what_is_no_picture_is_refused(images):
    with pytest.raises(UserError, match=r"expected (a uint8 picture|pictures of shape)"):
        find_landmarks(images)


def test_the_correspondence_has_68_points_and_mirrors():
    assert len(MESH) == len(MIRROR) == 68
    np.testing.assert_array_equal(MIRROR[MIRROR], np.arange(68))
    assert MIRROR[[0, 17, 27, 36, 48, 60]].tolist() == [16, 26, 27, 45, 54, 64]


class Squares(FaceMesh):
    """A network that finds each mesh point at the place where a bright square is."""

    def __init__(self):
        self.net = self

    def setInput(self, batch):  # noqa: N802 (OpenCV's name)
        self.seen = batch[0, 0]

    def forward(self, names):
        y, x = (np.argwhere(self.seen > 0.5) + 0.5).mean(0)
        mesh = np.zeros((468, 3), np.float32)
        mesh[:, :2] = x, y
        mesh[[*face_mesh.FIRST[42:48]], 0] += 60  # the right eye is to the right: upright
        mesh[0, 1] += 90
        return mesh.reshape(1, 1, 1, -1), np.array([[5.0]])


@pytest.mark.parametrize("turn", [0.0, 30.0, -90.0])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_place_in_the_square_is_the_same_place_in_the_picture(turn, mirrored):
    picture = np.zeros((48, 48), np.uint8)
    picture[12:16, 30:34] = 255  # middle at x 32, y 14
    mesh = Squares()
    points, score = mesh._look(picture, np.array([24.0, 24.0]), 60.0, turn, mirrored)
    np.testing.assert_allclose(points[100], [32, 14], atol=0.1)
    assert score == pytest.approx(1 / (1 + np.exp(-5)))


@needs_network
def test_drawn_faces_and_noise():
    faces = drawn_faces(7, image_size=192)
    noise = np.random.default_rng(0).integers(0, 256, (1, 1, 192, 192), dtype=np.uint8)
    points, score = find_landmarks(np.concatenate([faces.images, noise]))
    assert points.shape == (8, 68, 2)
    assert score[7] < 0.5
