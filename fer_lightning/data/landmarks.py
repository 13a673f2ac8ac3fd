"""Per-image region outlines from a file of facial landmarks, keyed by image hash."""

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.regions import FACE, Outline, rasterise
from fer_lightning.errors import UserError

MAX_BYTES = 1 << 29  # FER-2013 with 68 points an image takes 35 MB
MAX_POINTS, MAX_POLYGONS, MAX_COORDINATE = 512, 8, 1e5


@dataclass(frozen=True)
class Landmarks:
    """Outlines of the face regions of single images, by `masks.image_key`."""

    outlines: dict[str, dict[str, list[Outline]]]

    def masks(self, key: str, size: tuple[int, int]) -> dict[str, NDArray[np.bool_]] | None:
        """Masks (H, W) of the regions of one image, or None where the file does not know it."""
        known = self.outlines.get(key)
        if known is None:
            return None
        return {name: rasterise(outlines, size) for name, outlines in known.items()}


def read_landmarks(path: str | Path) -> Landmarks:
    """Read landmarks in pixels of the images they belong to.

    A ``.csv`` file has the columns ``sha256,x0,y0,…,x67,y67``: 68 points in the order of iBUG
    300-W. A ``.json`` file maps each hash to ``{"points": [[x, y], …]}`` with those 68, or to
    ``{"regions": {"eyes": [polygon, …], "eyebrow": …, "nose": …, "mouth": …, "face": …}}``.

    Raises:
        UserError: the file is missing, too large, malformed or without faces.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"expected a landmark file but got no file at {path}; check the path")
    if path.suffix not in (".json", ".csv"):
        raise UserError(
            f"expected a landmark file ending in .json or .csv but got {path.name}; rename it"
        )
    if path.stat().st_size > MAX_BYTES:
        raise UserError(
            f"expected a landmark file of at most {MAX_BYTES >> 20} MB but got {path.name} with "
            f"{path.stat().st_size >> 20} MB; split it"
        )
    try:
        text = path.read_text(encoding="utf-8")
        faces = _from_json(text) if path.suffix == ".json" else _from_csv(text)
    except (
        ValueError,
        RecursionError,
        csv.Error,
    ) as problem:  # JSON and Unicode errors are ValueErrors
        raise UserError(
            f"expected landmarks in {path.name} but got a malformed file ({problem}); "
            "write it again as described in read_landmarks"
        ) from problem
    if not faces:
        raise UserError(f"expected landmarks in {path.name} but got none; add a row per image")
    return Landmarks(faces)


def _from_json(text: str) -> dict[str, dict[str, list[Outline]]]:
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("the top level is no object of image hashes")
    return {_key(key): _face(key, entry) for key, entry in data.items()}


def _face(key: str, entry: object) -> dict[str, list[Outline]]:
    if isinstance(entry, dict) and "points" in entry:
        return from_68_points(_points(key, entry["points"]))
    regions = entry.get("regions") if isinstance(entry, dict) else None
    if not isinstance(regions, dict) or set(regions) != set(FACE.base):
        raise ValueError(f"image {key[:12]} has neither points nor regions {', '.join(FACE.base)}")
    for name, polygons in regions.items():
        if not isinstance(polygons, list) or not 1 <= len(polygons) <= MAX_POLYGONS:
            raise ValueError(
                f"{name} of image {key[:12]} is no list of 1 to {MAX_POLYGONS} polygons"
            )
    return {name: [Outline(_points(key, p)) for p in regions[name]] for name in FACE.base}


def _from_csv(text: str) -> dict[str, dict[str, list[Outline]]]:
    rows = csv.reader(io.StringIO(text))
    header = [name.strip() for name in next(rows, [])]
    if header != ["sha256", *(f"{axis}{k}" for k in range(68) for axis in "xy")]:
        raise ValueError("the header is not sha256,x0,y0,...,x67,y67")
    faces = {}
    for number, row in enumerate(rows, start=2):
        if len(row) != 137:
            raise ValueError(f"line {number} has {len(row)} fields instead of 137")
        points = np.array([float(field) for field in row[1:]]).reshape(68, 2).tolist()
        faces[_key(row[0])] = from_68_points(_points(row[0], points))
    return faces


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


def from_68_points(points: NDArray[np.float64]) -> dict[str, list[Outline]]:
    """Outlines of the regions from 68 landmarks (68, 2) in the order of iBUG 300-W.

    Margins are shares of the distance between the eyes; the forehead, which has no landmarks,
    reaches 0.55 of it above the brows.
    """
    if points.shape != (68, 2):
        raise ValueError(f"a face has {len(points)} landmarks instead of 68")
    left, right = points[36:42], points[42:48]
    unit = float(np.linalg.norm(left.mean(0) - right.mean(0)))
    up = np.array([0.0, -0.55 * unit])
    return {
        "eyes": [Outline(left, grow=0.06 * unit), Outline(right, grow=0.06 * unit)],
        "eyebrow": [
            Outline(points[17:22], closed=False, grow=0.08 * unit),
            Outline(points[22:27], closed=False, grow=0.08 * unit),
        ],
        "nose": [Outline(points[[27, 31, 32, 33, 34, 35]], grow=0.06 * unit)],
        "mouth": [Outline(points[48:60], grow=0.05 * unit)],
        "face": [Outline(np.concatenate([points[:17], points[26:16:-1] + up]))],
    }
