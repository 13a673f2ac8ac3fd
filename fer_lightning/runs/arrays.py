"""Reading the larger files of a run folder: features with faces, and maps. No torch here."""

import io
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fer_lightning.errors import UserError
from fer_lightning.runs.files import MAX_ARRAYS
from fer_lightning.runs.run import Run


class Embedding(NamedTuple):
    """Features of some test images; place i of each array belongs to the same image."""

    row: NDArray[np.int64]  # (N,) of the image in its data set
    label: NDArray[np.int64]  # (N,)
    features: NDArray[np.float32]  # (N, D)
    points: NDArray[np.float32]  # (N, 2) their t-SNE
    faces: NDArray[np.uint8] | None  # (N, H, W) or (N, H, W, 3); None in runs that kept none


class Maps(NamedTuple):
    """Grad-CAM of some test images."""

    row: NDArray[np.int64]  # (M,)
    heat: NDArray[np.float32]  # (M, H, W) from 0 to 1


def read_embedding(run: Run) -> Embedding | None:
    """Read features.npz; None where there is none.

    Raises:
        UserError: it is damaged.
    """
    path = run.path / "features.npz"
    if not path.is_file():
        return None
    found = read_arrays(path, ("row", "label", "features", "points"), ("faces",))
    row, label, features, points = (found[n] for n in ("row", "label", "features", "points"))
    N = len(row)
    faces = found.get("faces")
    fits = row.shape == label.shape == (N,) and points.shape == (N, 2)
    if not fits or features.ndim != 2 or len(features) != N or row.dtype.kind not in "iu":
        raise _damaged(path, "arrays that do not fit each other")
    if faces is not None:
        if faces.ndim != 4 or len(faces) != N or faces.shape[1] not in (1, 3):
            raise _damaged(path, f"faces of shape {faces.shape}")
        faces = faces[:, 0] if faces.shape[1] == 1 else faces.transpose(0, 2, 3, 1)
        faces = np.ascontiguousarray(faces, np.uint8)
    return Embedding(
        row.astype(np.int64),
        label.astype(np.int64),
        features.astype(np.float32),
        points.astype(np.float32),
        faces,
    )


def read_maps(run: Run) -> Maps | None:
    """Read maps.npz; None where there is none.

    Raises:
        UserError: it is damaged.
    """
    path = run.path / "maps.npz"
    if not path.is_file():
        return None
    found = read_arrays(path, ("row", "heat"))
    row, heat = found["row"], found["heat"]
    if row.ndim != 1 or heat.ndim != 3 or len(heat) != len(row) or row.dtype.kind not in "iu":
        raise _damaged(path, f"shapes {row.shape} and {heat.shape}")
    return Maps(row.astype(np.int64), heat.astype(np.float32))


def read_arrays(
    path: Path, names: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, NDArray[Any]]:
    """Read named arrays of numbers, with a limit to what they may unpack to.

    Raises:
        UserError: too large, no such file, no arrays, or one is missing.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_ARRAYS + 1)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if max(size, len(data)) > MAX_ARRAYS:
            raise ValueError(f"it unpacks to {size:,} bytes")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            wanted = [*names, *(name for name in optional if name in arrays)]
            found = {name: arrays[name] for name in wanted}
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _damaged(path, str(error)[:100]) from error
    for name, array in found.items():
        if array.dtype.kind not in "iufb":
            raise _damaged(path, f"{name} of type {array.dtype}")
    return found


def _damaged(path: Path, what: str) -> UserError:
    return UserError(f"expected arrays that fit in {path} but got {what}; copy the file again")


def places(wanted: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each wanted row stands among others, -1 where it does not.

    >>> places(np.array([7, 3, 9]), np.array([3, 5, 7])).tolist()
    [2, 0, -1]
    """
    if not len(among):
        return np.full(len(wanted), -1)
    order = np.argsort(among, kind="stable")
    at = np.minimum(np.searchsorted(among[order], wanted), len(among) - 1)
    return np.where(among[order][at] == wanted, order[at], -1)
