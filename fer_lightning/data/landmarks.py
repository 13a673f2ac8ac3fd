"""Regions of single faces from 68 landmarks each, keyed by image hash, and their files."""

import csv
import io
import json
import lzma
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from fer_lightning.arrays import read_npz
from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.masks import find_masks, image_key, regions_sentence
from fer_lightning.data.regions import FACE, Masks, Outline, rasterise, rasterise_many
from fer_lightning.errors import UserError

MAX_BYTES = 1 << 29  # FER-2013 with 68 points an image takes 35 MB as text, 5 MB as arrays
MAX_POINTS, MAX_POLYGONS, MAX_COORDINATE = 512, 8, 1e5
ENDINGS = (".npz", ".npz.xz", ".csv", ".json")
ACCEPTED = 127  # of 255: scores above it belong to a face
AT_ONCE = 1024  # faces whose regions are rasterised together
SHIPPED = "fer2013_landmarks.npz.xz"
WITHOUT = ("none", "template")  # words instead of a file: use the template

# Region → its outlines: places among the 68 points, closed or a line, and a margin as a share of
# the distance between the eyes. The outline of the face goes on over the brows, see `_forehead`.
SHAPES: Mapping[str, tuple[tuple[Sequence[int], bool, float], ...]] = {
    "eyes": ((range(36, 42), True, 0.06), (range(42, 48), True, 0.06)),
    "eyebrow": ((range(17, 22), False, 0.08), (range(22, 27), False, 0.08)),
    "nose": (((27, 31, 32, 33, 34, 35), True, 0.06),),
    "mouth": ((range(48, 60), True, 0.05),),
    "face": (((*range(17), *range(26, 16, -1)), True, 0.0),),
}
FOREHEAD = 0.55  # of the distance between the eyes, above the brows, where there are no landmarks


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Where the regions of single faces are, by the first bytes of their image's SHA-256.

    Args:
        keys: (N, 8 to 32) uint8.
        points: (N, 68, 2) x and y in pixels of the image, in the order of iBUG 300-W.
        score: (N,) uint8; a face was found where it is above `ACCEPTED`.
        outlines: instead of points, polygons of the regions, by `masks.image_key`.
        name: of the file, for sentences.
    """

    keys: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 32), np.uint8))
    points: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 68, 2), np.float32))
    score: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    outlines: Mapping[str, dict[str, list[Outline]]] = field(default_factory=dict)
    name: str = "landmarks"
    _kept: dict[tuple[int, int], tuple[NDArray[np.uint8], Masks]] = field(
        default_factory=dict, repr=False
    )  # by size: packed masks, and which of them there are

    def __len__(self) -> int:
        return len(self.keys) + len(self.outlines)

    @cached_property
    def _places(self) -> dict[bytes, int]:
        return {key.tobytes(): i for i, key in enumerate(self.keys)}

    def find(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """Places, (B,), of images by `image_key`; -1 where an image is not known by points."""
        length = self.keys.shape[1]
        places = (self._places.get(bytes.fromhex(key)[:length], -1) for key in keys)
        return np.fromiter(places, np.int64, len(keys))

    def knows(self, keys: Sequence[str]) -> Masks:
        """Tell of which images, (B,), there is an entry, accepted or not."""
        return (self.find(keys) >= 0) | np.array([key in self.outlines for key in keys], bool)

    def accepted(self, keys: Sequence[str]) -> Masks:
        """Tell in which images, (B,), a face was found."""
        places = self.find(keys)
        good = places >= 0
        good[good] = self.score[places[good]] > ACCEPTED
        return good | np.array([key in self.outlines for key in keys], bool)

    def masks(self, keys: Sequence[str], size: tuple[int, int]) -> tuple[Masks, Masks]:
        """Masks of images by `image_key`.

        Returns:
            (B, R, H, W) in the order of `FACE`, and (B,): for which images these are masks. They
            are not where the image is unknown, its score is too low, or a region lies outside it.
        """
        found = np.zeros((len(keys), len(FACE.order), *size), bool)
        places = self.find(keys)
        good = places >= 0
        good[good] = self.score[places[good]] > ACCEPTED
        if good.any():
            base = self._base_masks(places[good], size)
            found[good] = FACE.stack(dict(zip(FACE.base, base.swapaxes(0, 1), strict=True)))
            good &= np.all(np.any(found, axis=(2, 3)), axis=1)
        for i, key in enumerate(keys if self.outlines else ()):
            if key in self.outlines:
                drawn = self.outlines[key]
                found[i] = FACE.stack({name: rasterise(o, size) for name, o in drawn.items()})
                good[i] = True
        return found, good

    def _base_masks(self, places: NDArray[np.int64], size: tuple[int, int]) -> Masks:
        """(B, base, H, W), rasterised at their first use and then kept as bits."""
        shape = (len(FACE.base), *size)
        if size not in self._kept:
            room = np.zeros((len(self.keys), math.ceil(math.prod(shape) / 8)), np.uint8)
            self._kept[size] = room, np.zeros(len(self.keys), bool)
        packed, there = self._kept[size]
        new = np.unique(places[~there[places]])
        for i in range(0, len(new), AT_ONCE):
            some = new[i : i + AT_ONCE]
            masks = face_masks(self.points[some].astype(np.float64), size)
            packed[some] = np.packbits(masks.reshape(len(some), -1), axis=1)
            there[some] = True
        bits = np.unpackbits(packed[places], axis=1, count=math.prod(shape))
        return bits.view(bool).reshape(-1, *shape)


def face_masks(points: NDArray[np.float64], size: tuple[int, int]) -> Masks:
    """Rasterise the regions of faces, (N, 68, 2) landmarks → (N, 5, H, W) in ``FACE.base``.

    A pixel belongs to a region if its centre does.
    """
    unit = np.linalg.norm(points[:, 36:42].mean(1) - points[:, 42:48].mean(1), axis=1)
    found = np.zeros((len(points), len(FACE.base), *size), bool)
    for name, shapes in SHAPES.items():
        for places, closed, margin in shapes:
            outline = points[:, list(places)]
            if name == FACE.outside:
                outline = _forehead(outline, unit)
            grow = None if margin == 0 else margin * unit
            found[:, FACE.base.index(name)] |= rasterise_many(outline, size, closed, grow)
    return found


def _forehead(outline: NDArray[np.float64], unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move the brows, the last ten points of the face's outline, up."""
    moved = outline.copy()
    moved[:, 17:, 1] -= FOREHEAD * unit[:, None]
    return moved


@lru_cache(maxsize=1)
def shipped_landmarks() -> Landmarks:
    """The landmarks of FER-2013's images, which come with the package."""
    raw = (resources.files("fer_lightning.data") / SHIPPED).read_bytes()
    return _from_npz(_unpacked(raw), "the shipped landmarks of FER-2013")


def landmarks_of(image_set: ImageSet, path: str | None = None) -> Landmarks | None:
    """The landmarks that a data set is used with.

    Args:
        image_set: the data set.
        path: a file, one of `WITHOUT`, or None for the shipped ones, where they know any image.

    Returns:
        None where the template, or masks of its own, are to be used.

    Raises:
        UserError: a file that cannot be read, or belongs to another data set.
    """
    if path in WITHOUT:
        return None
    if path is not None:
        found = read_landmarks(path)
        check_fit(found, image_set)
        return found
    grey = image_set.images.shape[1:] == (1, 48, 48)
    if not grey or image_set.masks is not None or image_set.regions is not FACE:
        return None
    found = shipped_landmarks()
    return found if any(found.knows(keys).any() for keys in _keys(image_set)) else None


def check_fit(landmarks: Landmarks, image_set: ImageSet) -> None:
    """Refuse landmarks of another data set, or far outside the pictures.

    Raises:
        UserError: no image in common, or an accepted point more than a picture's side outside.
    """
    places = np.concatenate([landmarks.find(keys) for keys in _keys(image_set)])
    known = np.flatnonzero(places >= 0)
    if not len(known) and not any(landmarks.knows(k).any() for k in _keys(image_set)):
        raise UserError(
            f"expected landmarks of {image_set.name} but {landmarks.name} knows none of its "
            f"{len(image_set):,} images; they belong to other pictures, or to these at another "
            "size: make them by 'fer-lightning landmarks'"
        )
    side = np.array(image_set.images.shape[:1:-1])  # width, height
    points = landmarks.points[places[known]]
    out = ((points < -side) | (points > 2 * side)).any((1, 2))
    out &= landmarks.score[places[known]] > ACCEPTED
    if out.any():
        raise UserError(
            f"expected landmarks inside the pictures of {image_set.name} but {landmarks.name} has "
            f"points far outside of {image_set.files[known[out.argmax()]]} ({out.sum():,} such "
            "images); write them in pixels of the images"
        )


def regions_note(image_set: ImageSet, landmarks: Landmarks | None) -> str:
    """Say where the regions of a whole data set come from; empty where it has none."""
    if image_set.regions is None:
        return ""
    if landmarks is None or image_set.masks is not None:
        return regions_sentence(
            find_masks(image_set, range(1)).regions_from, image_set.labels[:1], image_set.classes
        )
    found = np.concatenate([landmarks.accepted(keys) for keys in _keys(image_set)])
    words = np.where(found, "landmarks", "template").tolist()
    return regions_sentence(words, image_set.labels, image_set.classes)


def _keys(image_set: ImageSet) -> Iterator[list[str]]:
    """`image_key` of all images, part by part."""
    for i in range(0, len(image_set), AT_ONCE):
        yield [image_key(image) for image in image_set.unplanted.images[i : i + AT_ONCE]]


# --- Files


def read_landmarks(path: str | Path) -> Landmarks:
    """Read landmarks in pixels of the images they belong to.

    An ``.npz`` file is what ``fer-lightning landmarks`` writes, see `write_landmarks`; ``.npz.xz``
    is the same, compressed. A ``.csv`` file has the columns ``sha256,x0,y0,…,x67,y67``: 68 points
    in the order of iBUG 300-W. A ``.json`` file maps each hash to ``{"points": [[x, y], …]}`` with
    those 68, or to ``{"regions": {"eyes": [polygon, …], "eyebrow": …, …}}`` with all five regions.

    Raises:
        UserError: the file is missing, too large, malformed or without faces.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"expected a landmark file but got no file at {path}; check the path")
    if not path.name.endswith(ENDINGS):
        raise UserError(
            f"expected a landmark file ending in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} but "
            f"got {path.name}; rename it"
        )
    if path.stat().st_size > MAX_BYTES:
        raise UserError(
            f"expected a landmark file of at most {MAX_BYTES >> 20} MB but got {path.name} with "
            f"{path.stat().st_size >> 20} MB; split it"
        )
    try:
        found = _read(path)
    except (ValueError, RecursionError, csv.Error) as problem:
        # JSON and Unicode errors are ValueErrors
        raise UserError(
            f"expected landmarks in {path.name} but got a malformed file ({problem}); "
            "write it again as described in read_landmarks"
        ) from problem
    if not len(found):
        raise UserError(f"expected landmarks in {path.name} but got none; add a row per image")
    return found


def _read(path: Path) -> Landmarks:
    if path.name.endswith((".npz", ".xz")):
        raw = path.read_bytes()
        return _from_npz(_unpacked(raw) if path.suffix == ".xz" else raw, path.name)
    text = path.read_text(encoding="utf-8")
    return (_from_json if path.suffix == ".json" else _from_csv)(text, path.name)


def write_landmarks(
    file: IO[bytes],
    keys: NDArray[np.uint8],
    points: NDArray[np.float32],
    score: NDArray[np.float32],
    size: tuple[int, int],
) -> None:
    """Write landmarks as plain arrays: `points` is (pixels + `offset`) * `scale`, rounded.

    Args:
        file: open for writing.
        keys: (N, 8 to 32) first bytes of each image's SHA-256.
        points: (N, 68, 2) in pixels; what lies far outside the picture is moved to the border of
            what can be written: -8 to 55.75 for pictures of 48 pixels, a side around others.
        score: (N,) from 0 to 1.
        size: height and width of the pictures.
    """
    small = max(size) <= 48
    kind = np.uint8 if small else np.uint16
    # (65535 - side * scale) / scale is at least two sides
    scale = 4 if small else max(1, 2 ** int(math.log2(65535 / 3 / max(size))))
    offset = 8 if small else max(size)  # pixels
    whole = np.clip(np.round((points + offset) * scale), 0, np.iinfo(kind).max)
    np.savez_compressed(
        file,
        sha256=keys,
        points=whole.astype(kind),
        score=np.round(np.clip(score, 0, 1) * 255).astype(np.uint8),
        scale=np.array([scale]),
        offset=np.array([offset]),
    )


def _unpacked(raw: bytes) -> bytes:
    """Undo xz, up to `MAX_BYTES`."""
    unpacking = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=1 << 28)
    try:
        data = unpacking.decompress(raw, MAX_BYTES + 1)
    except lzma.LZMAError as error:
        raise ValueError(f"no xz file: {error}") from error
    if len(data) > MAX_BYTES or not unpacking.eof:
        raise ValueError("it is cut off" if len(data) <= MAX_BYTES else "it is too large unpacked")
    return data


def _from_npz(raw: bytes, name: str) -> Landmarks:
    wanted = ("sha256", "points", "score", "scale", "offset")
    arrays = read_npz(raw, wanted.__contains__, MAX_BYTES)
    missing = [name for name in wanted if not arrays.get(name, np.zeros(0)).size]
    if missing:
        raise ValueError(f"it has no array {missing[0]}, or an empty one")
    keys, points, score = arrays["sha256"], arrays["points"], arrays["score"]
    N = len(keys) if keys.ndim else 0
    if keys.ndim != 2 or keys.dtype != np.uint8 or not 8 <= keys.shape[1] <= 32:
        raise ValueError(f"sha256 is {keys.dtype} {keys.shape} instead of uint8 (N, 8 to 32)")
    if points.ndim != 3 or points.shape[2] != 2 or len(points) != N:
        raise ValueError(f"points has shape {points.shape} instead of ({N}, 68, 2)")
    if points.shape[1] != 68:
        raise ValueError(f"a face has {points.shape[1]} landmarks instead of 68")
    if points.dtype.kind not in "uif" or score.dtype != np.uint8 or score.shape != (N,):
        raise ValueError(
            f"points are {points.dtype} and score is {score.dtype} {score.shape} instead of "
            f"numbers and uint8 ({N},)"
        )
    scale, offset = (float(arrays[k].ravel()[0]) for k in ("scale", "offset"))
    if not (math.isfinite(scale) and scale > 0 and math.isfinite(offset)):
        raise ValueError(f"scale is {scale} and offset {offset}")
    pixels = (points.astype(np.float32) / scale - offset).astype(np.float32)
    if not np.isfinite(pixels).all() or (N and np.abs(pixels).max() > MAX_COORDINATE):
        raise ValueError("a point is no pair of pixel coordinates")
    return Landmarks(keys, pixels, score, name=name)


def _from_json(text: str, name: str) -> Landmarks:
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("the top level is no object of image hashes")
    points: dict[str, NDArray[np.float64]] = {}
    outlines: dict[str, dict[str, list[Outline]]] = {}
    for key, entry in data.items():
        name_of = _key(key)
        if isinstance(entry, dict) and "points" in entry:
            points[name_of] = _68(_points(key, entry["points"]))
        else:
            outlines[name_of] = _polygons(key, entry)
    return _of(points, outlines, name)


def _of(
    points: dict[str, NDArray[np.float64]], outlines: dict[str, dict[str, list[Outline]]], name: str
) -> Landmarks:
    """Put points by hash into arrays."""
    if not points:
        return Landmarks(outlines=outlines, name=name)
    keys = np.frombuffer(bytes.fromhex("".join(points)), np.uint8).reshape(-1, 32)
    stacked = np.stack(list(points.values())).astype(np.float32)
    return Landmarks(keys, stacked, np.full(len(keys), 255, np.uint8), outlines, name)


def _polygons(key: str, entry: object) -> dict[str, list[Outline]]:
    regions = entry.get("regions") if isinstance(entry, dict) else None
    if not isinstance(regions, dict) or set(regions) != set(FACE.base):
        raise ValueError(f"image {key[:12]} has neither points nor regions {', '.join(FACE.base)}")
    for name, polygons in regions.items():
        if not isinstance(polygons, list) or not 1 <= len(polygons) <= MAX_POLYGONS:
            raise ValueError(
                f"{name} of image {key[:12]} is no list of 1 to {MAX_POLYGONS} polygons"
            )
    return {name: [Outline(_points(key, p)) for p in regions[name]] for name in FACE.base}


def _from_csv(text: str, name: str) -> Landmarks:
    rows = csv.reader(io.StringIO(text))
    header = [column.strip() for column in next(rows, [])]
    if header != ["sha256", *(f"{axis}{k}" for k in range(68) for axis in "xy")]:
        raise ValueError("the header is not sha256,x0,y0,...,x67,y67")
    faces = {}
    for number, row in enumerate(rows, start=2):
        if len(row) != 137:
            raise ValueError(f"line {number} has {len(row)} fields instead of 137")
        points = np.array([float(cell) for cell in row[1:]]).reshape(68, 2).tolist()
        faces[_key(row[0])] = _points(row[0], points)
    return _of(faces, {}, name)


def _key(key: str) -> str:
    key = key.strip().lower()
    if len(key) != 64 or set(key) - set("0123456789abcdef"):
        raise ValueError(f"{key[:12]!r} is no SHA-256 in hex")
    return key


def _points(key: str, value: object) -> NDArray[np.float64]:
    """(P, 2) finite coordinates, or a ValueError."""
    if not isinstance(value, list) or not 3 <= len(value) <= MAX_POINTS:
        raise ValueError(f"image {key[:12]} has an outline without 3 to {MAX_POINTS} points")
    for pair in value:
        good = isinstance(pair, list) and len(pair) == 2
        if not good or not all(type(v) in (int, float) and abs(v) <= MAX_COORDINATE for v in pair):
            raise ValueError(f"image {key[:12]} has a point that is no pair of pixel coordinates")
    return np.array(value, np.float64)


def _68(points: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(points) != 68:
        raise ValueError(f"a face has {len(points)} landmarks instead of 68")
    return points
