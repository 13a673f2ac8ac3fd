"""Faces in photographs, cut out as FER-2013's are.

BlazeFace's short-range network (Bazarevsky et al. 2019, arXiv:1907.05047), see `networks`, looks at
128x128 pixels and tells boxes relative to 896 fixed places, the anchors. It looks at the whole
picture, then at tiles of a half and a quarter of it, so that small faces are found too, and once
more at each face from near. Both looks must see one.

Measured on 150 faces of FER-2013 at 120 pixels amid their repeated edges: 98 % have a second look
above 0.5, 94 % above `SURE`; of 150 pictures of CIFAR-10, enlarged to 256 pixels, 14 and 5 % pass
for a face. The following was measured with 0.5 in place of `SURE`, and is a little too good for it:
of ten faces of FER-2013 on a photograph of 1024 pixels 97 % are found at 150 pixels, 80 % at 60 and
13 % at 40; 56 of 56 drawn faces on a grey canvas. Faces that are turned were not measured.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.networks import FACE_DETECTOR, fetch_network, read_network
from fer_lightning.data.readers.pictures import resize

Pixels = NDArray[np.uint8]  # (H, W) grey or (H, W, 3) RGB
Floats = NDArray[np.float32]
INPUT = 128  # pixels of the network's input
GRIDS = ((16, 2), (8, 6))  # cells a side, anchors in each
OUTPUTS = ("regressors", "classificators")
FACE, SURE = 0.5, 0.6  # the least score of the first and of the second look
OVERLAP = 0.3  # intersection over union of two boxes of one face
INSIDE = 0.5  # share of the smaller box inside the larger one that makes them one face
MOST = 1024  # pixels of a picture's longer side; larger ones are looked at smaller
LEVELS = 3  # the whole picture, tiles of a half and of a quarter of its longer side
LEAST_TILE = 96  # pixels; smaller tiles show nothing new
MARGIN = 1.5  # the whole picture is seen with this much around it: a face may fill it
NEAR = 2.0  # the second look: this many times the box
# FER-2013's crop around a box of the second look: how much larger (medians of 387 faces, quartiles
# 1.09 and 1.29), and by how much of the box its centre lies higher (0.03 and 0.13)
FRAME, RAISED = 1.19, 0.08
NEARLY_SQUARE = 1.2  # longer side over the shorter one
TINY = 64  # pixels: a nearly square picture of at most these is a face, and not looked at
SMALL = 128  # pixels: likewise, where no face is found in it
FILLS = 0.6  # intersection over union of a face's square and the picture's


class Face(NamedTuple):
    """The square of a picture that shows one face."""

    x: int  # left edge in pixels of the picture; may lie outside of it
    y: int  # top
    side: int
    score: float  # 0 to 1, of the network; 1 for a picture that was taken as it is
    whole: bool = False  # the picture was taken as it is


@lru_cache(maxsize=1)
def anchors() -> Floats:
    """Return the places that boxes are told relative to, (896, 2), x and y from 0 to 1.

    >>> anchors().shape, anchors()[[0, 1, 2, 512, 895]].tolist()[3]
    ((896, 2), [0.0625, 0.0625])
    """
    parts = []
    for cells, each in GRIDS:
        middle = (np.arange(cells, dtype=np.float32) + 0.5) / cells
        x, y = np.meshgrid(middle, middle)
        parts.append(np.repeat(np.stack([x.ravel(), y.ravel()], axis=1), each, axis=0))
    return np.concatenate(parts)


def decode(raw: Floats, logits: Floats) -> tuple[Floats, Floats]:
    """Turn the network's output into boxes.

    Args:
        raw: (896, 16) centre, width and height in pixels of the input, the centre relative to the
            anchor; then six points, which are not used.
        logits: (896,).

    Returns:
        (K, 4) left, top, right, bottom from 0 to 1, and scores (K,), of those above `FACE`.

    >>> raw, logits = np.zeros((896, 16), np.float32), np.full(896, -9, np.float32)
    >>> raw[895, :4], logits[895] = (8, 0, 32, 64), 9
    >>> boxes, scores = decode(raw, logits)
    >>> (boxes * 128).tolist(), scores.round(3).tolist()
    ([[112.0, 88.0, 144.0, 152.0]], [1.0])
    """
    scores = 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
    seen = scores > FACE
    middle = raw[seen, :2] / INPUT + anchors()[seen]
    half = np.abs(raw[seen, 2:4]) / INPUT / 2
    boxes = np.concatenate([middle - half, middle + half], axis=1)
    return boxes.astype(np.float32), scores[seen].astype(np.float32)


def overlaps(box: Floats, boxes: Floats) -> tuple[Floats, Floats]:
    """Compare a box (4,) with others (K, 4): intersection over union, and over the smaller one.

    >>> one, other = np.array([0, 0, 4, 4.0]), np.array([[2, 0, 4, 2.0]])
    >>> [share.tolist() for share in overlaps(one, other)]
    [[0.25], [1.0]]
    """
    low, high = np.maximum(box[:2], boxes[:, :2]), np.minimum(box[2:], boxes[:, 2:])
    common = np.clip(high - low, 0, None).prod(axis=1)
    own, theirs = (box[2:] - box[:2]).prod(), (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    least = np.maximum(np.minimum(own, theirs), 1e-12)
    return common / np.maximum(own + theirs - common, 1e-12), common / least


def suppress(boxes: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Make one box of those that show one face: their mean, weighted by score, and the best score.

    >>> boxes = np.array([[0, 0, 4, 4], [0, 0, 4, 4.4], [8, 8, 9, 9]], np.float32)
    >>> merged, best = suppress(boxes, np.array([0.9, 0.9, 0.6], np.float32))
    >>> (10 * merged).round().tolist(), (10 * best).round().tolist()
    ([[0.0, 0.0, 40.0, 42.0], [80.0, 80.0, 90.0, 90.0]], [9.0, 6.0])
    """
    found, best = [], []
    left = np.argsort(-scores, kind="stable")
    while len(left):
        same = overlaps(boxes[left[0]], boxes[left])[0] > OVERLAP
        same[0] = True  # also of a box without area
        found.append(np.average(boxes[left[same]], axis=0, weights=scores[left[same]]))
        best.append(scores[left[0]])
        left = left[~same]
    return np.array(found, np.float32).reshape(-1, 4), np.array(best, np.float32)


def tiles(height: int, width: int) -> list[list[tuple[int, int, int]]]:
    """Give the squares that are looked at, coarse ones first: left, top and side of each.

    >>> tiles(200, 400)[1]
    [(0, 0, 200), (100, 0, 200), (200, 0, 200)]
    """
    longer = max(height, width)
    found = [[_around(height, width, longer), _around(height, width, round(longer * MARGIN))]]
    for level in range(1, LEVELS):
        side = longer // 2**level
        if side < LEAST_TILE:
            break
        found.append([(x, y, side) for y in _starts(height, side) for x in _starts(width, side)])
    return found


def _around(height: int, width: int, side: int) -> tuple[int, int, int]:
    return (width - side) // 2, (height - side) // 2, side


def _starts(length: int, side: int) -> list[int]:
    """Where tiles begin that overlap by at least a half and cover a length."""
    if side >= length:
        return [(length - side) // 2]
    steps = int(np.ceil(2 * length / side)) - 1
    return np.linspace(0, length - side, steps).astype(int).tolist()


class FaceFinder:
    """Finds the faces of a picture.

    Args:
        path: of the network `FACE_DETECTOR`, as `fetch_network` returns it.
    """

    def __init__(self, path: Path) -> None:
        self.net = read_network(path)

    def __call__(self, picture: Pixels) -> list[Face]:
        """Find faces, as one reads: row by row; `Face.whole` is never set."""
        times = max(1.0, max(picture.shape[:2]) / MOST)
        small = _shrink(picture, times)
        kept = np.zeros((0, 4), np.float32)
        for level in tiles(*small.shape[:2]):
            looks = [self.look(small, *tile) for tile in level]
            boxes, _ = suppress(*(np.concatenate(parts) for parts in zip(*looks, strict=True)))
            new = [box for box in boxes if not (overlaps(box, kept)[1] > INSIDE).any()]
            kept = np.concatenate([kept, np.array(new, np.float32).reshape(-1, 4)])
        near = [self._near(small, box) for box in kept]
        seen = [one for one in near if one is not None]
        if not seen:
            return []
        boxes, scores = suppress(np.stack([b for b, _ in seen]), np.array([s for _, s in seen]))
        faces = [framed(box * times, score) for box, score in zip(boxes, scores, strict=True)]
        return in_reading_order(faces)

    def _near(self, picture: Pixels, box: Floats) -> tuple[Floats, float] | None:
        """Look again at a square around a box: the surest box around its centre, or None."""
        middle, side = (box[:2] + box[2:]) / 2, round(float((box[2:] - box[:2]).max()) * NEAR)
        left, top = np.rint(middle - side / 2).astype(int).tolist()
        boxes, scores = self.look(picture, left, top, side)
        boxes, scores = suppress(boxes, scores)
        around = ((boxes[:, :2] < middle) & (middle < boxes[:, 2:])).all(axis=1) & (scores > SURE)
        if not around.any():
            return None
        best = int(np.argmax(np.where(around, scores, 0)))
        return boxes[best], float(scores[best])

    def look(self, picture: Pixels, left: int, top: int, side: int) -> tuple[Floats, Floats]:
        """Run the network on a square; boxes (K, 4) in pixels of the picture, scores (K,).

        Boxes that reach over an edge of the square inside of the picture are left out: another
        square shows that face whole.
        """
        seen = resize(cut(picture, Face(left, top, side, 1.0)), INPUT)
        grey = seen[..., None] if seen.ndim == 2 else seen
        batch = np.broadcast_to(grey, (INPUT, INPUT, 3)).transpose(2, 0, 1)[None] / np.float32(
            127.5
        )
        self.net.setInput(np.ascontiguousarray(batch - np.float32(1)))
        raw, logits = self.net.forward(OUTPUTS)
        boxes, scores = decode(raw.reshape(-1, 16), logits.ravel())
        boxes = boxes * np.float32(side) + np.array([left, top] * 2, np.float32)
        height, width = picture.shape[:2]
        low = np.maximum([left, top], 0) - 0.02 * side
        high = np.minimum([left + side, top + side], [width, height]) + 0.02 * side
        # over an edge of the picture a face may reach
        inside = ((boxes[:, :2] >= low) | (low <= 0)).all(1)
        inside &= ((boxes[:, 2:] <= high) | (high >= [width, height])).all(1)
        return boxes[inside], scores[inside]


def framed(box: Floats, score: float) -> Face:
    """Return the square that FER-2013 would show of a face, given its box.

    >>> framed(np.array([10, 10, 20, 20.0]), 0.9).side
    12
    """
    size = float((box[2:] - box[:2]).max())
    side = max(1, round(size * FRAME))
    x, y = (box[:2] + box[2:]) / 2 - (0, RAISED * size)
    return Face(round(float(x) - side / 2), round(float(y) - side / 2), side, float(score))


def in_reading_order(faces: Sequence[Face]) -> list[Face]:
    """Sort faces by rows from the top, and in a row from left to right.

    A face belongs to a row if half of it, or of the first one there if that is smaller, overlaps.

    >>> faces = [Face(0, 50, 9, 1.0), Face(20, 0, 9, 1.0), Face(0, 3, 9, 1.0)]
    >>> [face[:2] for face in in_reading_order(faces)]
    [(0, 3), (20, 0), (0, 50)]
    """
    rows: list[list[Face]] = []
    for face in sorted(faces, key=_height):
        if rows and _beside(rows[-1][0], face):
            rows[-1].append(face)
        else:
            rows.append([face])
    return [face for row in rows for face in sorted(row)]


def _height(face: Face) -> float:
    return face.y + face.side / 2


def _beside(one: Face, other: Face) -> bool:
    return abs(_height(one) - _height(other)) < min(one.side, other.side) / 2


def cut(picture: Pixels, face: Face) -> Pixels:
    """Cut a face's square out; what lies beyond the picture repeats its edge.

    >>> cut(np.array([[1, 2], [3, 4]], np.uint8), Face(-1, 0, 2, 1.0)).tolist()
    [[1, 1], [3, 3]]
    """
    height, width = picture.shape[:2]
    if 0 <= face.y <= height - face.side and 0 <= face.x <= width - face.side:
        return picture[face.y : face.y + face.side, face.x : face.x + face.side]
    rows = np.clip(np.arange(face.y, face.y + face.side), 0, height - 1)
    columns = np.clip(np.arange(face.x, face.x + face.side), 0, width - 1)
    return np.ascontiguousarray(picture[rows[:, None], columns])


def whole(picture: Pixels) -> Face:
    """Return the square in the middle of a picture that is a face already.

    >>> whole(np.zeros((50, 60), np.uint8))
    Face(x=5, y=0, side=50, score=1.0, whole=True)
    """
    height, width = picture.shape[:2]
    side = min(height, width)
    return Face((width - side) // 2, (height - side) // 2, side, 1.0, True)


def find_faces(picture: Pixels) -> list[Face]:
    """Find the faces of a picture; one that is already a face is taken as it is.

    That is a nearly square picture of at most `TINY` pixels a side, one of at most `SMALL` in which
    no face is found, or one that a single face fills: all of FER-2013 at 48 pixels, 83 % at 112
    (the others are cut closer), 82 % at 224 (200 faces each, with 0.5 in place of `SURE`).

    Raises:
        UserError: the network is not at hand and cannot be downloaded.

    >>> find_faces(np.zeros((48, 48), np.uint8))
    [Face(x=0, y=0, side=48, score=1.0, whole=True)]
    """
    shorter, longer = sorted(picture.shape[:2])
    square = longer <= NEARLY_SQUARE * shorter
    if square and longer <= TINY:
        return [whole(picture)]
    faces = face_finder(fetch_network(FACE_DETECTOR))(picture)
    if square and (
        (not faces and longer <= SMALL) or (len(faces) == 1 and fills(faces[0], picture))
    ):
        return [whole(picture)]
    return faces


def fills(face: Face, picture: Pixels) -> bool:
    """Tell whether a face's square is nearly that of the picture.

    >>> [fills(Face(5, 5, side, 0.9), np.zeros((100, 100))) for side in (90, 50)]
    [True, False]
    """
    middle = whole(picture)
    one, other = (np.array([f.x, f.y, f.x + f.side, f.y + f.side]) for f in (face, middle))
    return bool(overlaps(one, other[None])[0][0] > FILLS)


def _shrink(picture: Pixels, times: float) -> Pixels:
    if times <= 1:
        return picture
    height, width = (max(1, round(length / times)) for length in picture.shape[:2])
    return np.asarray(cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


@lru_cache(maxsize=1)
def face_finder(path: Path) -> FaceFinder:
    """The network, read once."""
    return FaceFinder(path)
