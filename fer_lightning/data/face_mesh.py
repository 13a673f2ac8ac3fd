"""68 points of any face, by mediapipe's face-mesh network, see `networks`.

Kartynnik et al. 2019, arXiv:1907.06724; OpenCV runs it.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.networks import FACE_MESH, fetch_network, read_network
from fer_lightning.errors import UserError

Floats = NDArray[np.float32]
RECIPE = 1  # raise it when the same picture is to get other points

SIDE = 192  # pixels of the network's input
PAD = 9 / 48  # of the picture's side, beyond each edge: the network expects a face with a margin
OTHER_PADS = (3 / 48, 15 / 48)  # tried where the score is below SURE
TURNS = (45, -45, 90, -90)  # degrees, tried where the score is below FACE
SURE, FACE = 0.9, 0.5
ZOOM = 1.5  # the second look, as in mediapipe: a square around the points, this much larger
MOST = 1024  # pixels of a picture's side; larger ones are made smaller first

# iBUG point → one or two points of the mesh, whose mean it is. The correspondence that Peizhi Yan
# published (github.com/PeizhiYan/Mediapipe_2_Dlib_Landmarks, 2024), but for two things: brow points
# are the mean of the brow's upper and lower edge, where the published ones lie on the upper edge,
# and the ends of the nose's base are 98 and 327, on the edges of the wings.
MESH: tuple[tuple[int, ...], ...] = (
    *((127,), (234,), (93,), (132, 58), (58, 172), (136,), (150,), (176,), (152,)),  # jaw
    *((400,), (379,), (365,), (397, 288), (361,), (323,), (454,), (356,)),
    *((70, 46), (63, 53), (105, 52), (66, 65), (107, 55)),  # brows
    *((336, 285), (296, 295), (334, 282), (293, 283), (300, 276)),
    *((168, 6), (197, 195), (5,), (4,), (98,), (97,), (2,), (326,), (327,)),  # nose
    *((33,), (160,), (158,), (133,), (153,), (144,)),  # eyes
    *((362,), (385,), (387,), (263,), (373,), (380,)),
    *((61,), (39,), (37,), (0,), (267,), (269,), (291,)),  # lips, outside
    *((321,), (314,), (17,), (84,), (91,)),
    *((78,), (82,), (13,), (312,), (308,), (317,), (14,), (87,)),  # lips, inside
)
FIRST = np.array([points[0] for points in MESH])
LAST = np.array([points[-1] for points in MESH])
# Which point of a mirrored face is which point of the face.
MIRROR = np.array(
    (
        *range(16, -1, -1),
        *range(26, 16, -1),
        *(27, 28, 29, 30, 35, 34, 33, 32, 31),
        *(45, 44, 43, 42, 47, 46, 39, 38, 37, 36, 41, 40),
        *(54, 53, 52, 51, 50, 49, 48, 59, 58, 57, 56, 55),
        *(64, 63, 62, 61, 60, 67, 66, 65),
    )
)


class FaceMesh:
    """Finds the 68 points of the one face that fills a picture.

    Args:
        path: of the network `FACE_MESH`, as `fetch_network` returns it.
    """

    def __init__(self, path: Path) -> None:
        self.net = read_network(path)

    def __call__(self, image: NDArray[np.uint8]) -> tuple[Floats, float]:
        """Find the points of one picture.

        Args:
            image: (C, H, W), grey or RGB.

        Returns:
            (68, 2) x and y in its pixels, pixel k covering k to k + 1, and a score from 0 to 1:
            above 0.5 there is a face.
        """
        picture, shrunk = _picture(image)
        size = max(picture.shape[:2])
        middle = np.array([picture.shape[1], picture.shape[0]]) / 2
        best = self._look(picture, middle, size * (1 + 2 * PAD), 0.0)
        if best[1] < SURE:
            sides = [size * (1 + 2 * pad) for pad in OTHER_PADS]
            best = max([best, *(self._look(picture, middle, s, 0.0) for s in sides)], key=_score)
        if best[1] < FACE:
            side = size * (1 + 2 * PAD)
            best = max([best, *(self._look(picture, middle, side, t) for t in TURNS)], key=_score)
        points, score = self._closer(picture, best[0])
        return points * shrunk, score

    def _closer(self, picture: NDArray[np.uint8], mesh: Floats) -> tuple[Floats, float]:
        """Look again at an upright square around the mesh, and at its mirror image."""
        points = to_68(mesh)
        across = points[42:48].mean(0) - points[36:42].mean(0)
        turn = float(np.degrees(np.arctan2(across[1], across[0])))
        axes = _axes(turn)
        upright = mesh @ axes.T  # in the frame of the face
        low, high = upright.min(0), upright.max(0)
        middle, side = (low + high) / 2 @ axes, float((high - low).max()) * ZOOM
        one, score = self._look(picture, middle, side, turn)
        twin, twin_score = self._look(picture, middle, side, turn, mirrored=True)
        return (to_68(one) + to_68(twin)[MIRROR]) / 2, (score + twin_score) / 2

    def _look(
        self,
        picture: NDArray[np.uint8],
        middle: NDArray[Any],
        side: float,
        turn: float,
        mirrored: bool = False,
    ) -> tuple[Floats, float]:
        """Run the network on a square of the picture, turned by `turn` degrees.

        Returns:
            The mesh (468, 2) in pixels of the picture, and a score from 0 to 1.
        """
        scale = side / SIDE
        to_picture = scale * _axes(turn).T  # columns: the square's axes in the picture
        corner = middle - to_picture @ [SIDE / 2, SIDE / 2]
        centres = np.array([0.5, 0.5])  # OpenCV counts from pixel centres
        shift = corner + to_picture @ centres - centres
        seen = cv2.warpAffine(
            picture,
            np.column_stack([to_picture, shift]),
            (SIDE, SIDE),
            flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP,
            borderMode=cv2.BORDER_REPLICATE,
        )
        seen = seen[:, ::-1] if mirrored else seen
        grey = seen[..., None] if seen.ndim == 2 else seen
        batch = np.broadcast_to(grey, (SIDE, SIDE, 3)).transpose(2, 0, 1)[None] / np.float32(255)
        self.net.setInput(np.ascontiguousarray(batch))
        mesh, logit = self.net.forward(("conv2d_21", "conv2d_31"))
        found = mesh.reshape(-1, 3)[:, :2]  # in pixels of the square
        if mirrored:
            found = found * [-1, 1] + [SIDE, 0]
        score = 1 / (1 + np.exp(-float(logit.ravel()[0])))
        return (found @ to_picture.T + corner).astype(np.float32), float(score)


def to_68(mesh: Floats) -> Floats:
    """Pick the 68 points of iBUG out of a mesh, (468, 2) → (68, 2)."""
    return (mesh[FIRST] + mesh[LAST]) / 2


def _score(found: tuple[Floats, float]) -> float:
    return found[1]


def _axes(turn: float) -> NDArray[np.float64]:
    """(2, 2): rows are the x and the y axis of a frame turned by so many degrees."""
    cos, sin = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    return np.array([[cos, sin], [-sin, cos]])


def _picture(image: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], float]:
    """(H, W) or (H, W, 3) as OpenCV takes it, not too large, and what its points are multiplied by.

    Raises:
        UserError: it is no picture.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or len(image) not in (1, 3) or not image.size:
        raise UserError(
            f"expected a uint8 picture of shape (1 or 3, H, W) but got {image.dtype} of shape "
            f"{image.shape}; give pictures as a data set holds them"
        )
    picture = np.ascontiguousarray(image[0] if len(image) == 1 else image.transpose(1, 2, 0))
    times = max(picture.shape[:2]) / MOST
    if times <= 1:
        return picture, 1.0
    size = (max(1, round(picture.shape[1] / times)), max(1, round(picture.shape[0] / times)))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8), times


@lru_cache(maxsize=1)
def face_mesh(path: Path) -> FaceMesh:
    """The network, read once."""
    return FaceMesh(path)


def find_landmarks(images: NDArray[np.uint8]) -> tuple[Floats, Floats]:
    """Find 68 points (iBUG order) and a score for each picture; `fl.landmarks`.

    The network is downloaded where it is not at hand.

    Args:
        images: (N, C, H, W) uint8, one face in each.

    Returns:
        Points (N, 68, 2), x and y in pixels, and scores (N,) from 0 to 1: a face above 0.5.

    Raises:
        UserError: no pictures, or no network.
    """
    if not isinstance(images, np.ndarray) or images.ndim != 4:
        shape = getattr(images, "shape", type(images).__name__)
        raise UserError(
            f"expected pictures of shape (N, C, H, W) but got {shape}; give data.test.images"
        )
    for image in images[:1]:
        _picture(image)  # before anything is downloaded
    mesh = face_mesh(fetch_network(FACE_MESH))
    found = [mesh(image) for image in images]
    points = np.stack([p for p, _ in found]) if found else np.zeros((0, 68, 2), np.float32)
    return points, np.array([score for _, score in found], np.float32)
