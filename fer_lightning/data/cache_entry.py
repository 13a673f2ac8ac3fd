"""One kept data set: a folder of .npy files and a description, written whole or not at all."""

import json
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import ImageSet

_META = "meta.json"
_ARRAYS = ("images", "labels", "usage", "files", "soft", "masks")
_UNFINISHED = ".unfinished-"
_ABANDONED = 24 * 3600  # seconds after which an unfinished entry belongs to a process that died


class DamagedError(Exception):
    """An entry that is not what was written."""


def checksum(array: NDArray[Any]) -> int:
    """Add up an array's bytes as 64-bit words: any cut or overwritten part shows, in 20 ms.

    >>> checksum(np.array([1, 2], np.uint64)), checksum(np.array([1, 1, 1], np.uint8))
    (3, 3)
    """
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    whole = len(data) // 8 * 8
    words = data[:whole].view(np.uint64)
    return (int(words.sum(dtype=np.uint64)) + int(data[whole:].sum(dtype=np.uint64))) % 2**64


def open_entry(folder: Path) -> ImageSet | None:
    """Open an entry memory-mapped, or return None if there is none.

    Raises:
        DamagedError: when something in it is missing or has changed.
    """
    if not folder.is_dir():
        return None
    try:
        meta = json.loads((folder / _META).read_text(encoding="utf-8"))
        arrays = {
            name: _open_array(folder / f"{name}.npy", expected)
            for name, expected in meta["arrays"].items()
        }
        return ImageSet(
            name=meta["name"],
            classes=tuple(meta["classes"]),
            mask_regions=tuple(meta["mask_regions"]),
            notes=meta["notes"],
            known_fingerprint=meta["fingerprint"],
            **arrays,
        )
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{type(error).__name__}: {error}") from error


def _open_array(path: Path, expected: dict[str, object]) -> NDArray[Any]:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if _description(array) != expected:
        raise ValueError(f"{path.name} has changed")
    return array


def _description(array: NDArray[Any]) -> dict[str, object]:
    return {"shape": list(array.shape), "dtype": array.dtype.str, "sum": checksum(array)}


def write_entry(root: Path, name: str, found: ImageSet, source: str) -> None:
    """Write an entry under a temporary name, then rename it; one that is there already stays.

    Raises:
        OSError: when it cannot be written; nothing of it remains then.
    """
    root.mkdir(parents=True, exist_ok=True)
    (root / ".gitignore").write_text("*\n")
    unfinished = root / f"{_UNFINISHED}{uuid.uuid4().hex}"
    unfinished.mkdir()
    try:
        arrays = {key: getattr(found, key) for key in _ARRAYS if getattr(found, key) is not None}
        for key, array in arrays.items():
            np.save(unfinished / f"{key}.npy", array, allow_pickle=False)
        meta = {
            "source": source,
            "name": found.name,
            "classes": found.classes,
            "mask_regions": found.mask_regions,
            "notes": found.notes,
            "fingerprint": found.fingerprint,
            "arrays": {key: _description(array) for key, array in arrays.items()},
        }
        (unfinished / _META).write_text(json.dumps(meta, indent=1), encoding="utf-8")
        try:
            unfinished.rename(root / name)
        except OSError:
            if not (root / name).is_dir():
                raise
            # another process was faster; what it has written is the same
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def remove_entry(folder: Path) -> None:
    """Remove an entry in one step, so that nobody opens a half-removed one."""
    trash = folder.with_name(f"{_UNFINISHED}{uuid.uuid4().hex}")
    try:
        folder.rename(trash)
    except OSError:  # gone already, or nothing may be removed here
        return
    shutil.rmtree(trash, ignore_errors=True)


def remove_outdated(root: Path, name: str) -> None:
    """Remove older entries of the same source and options, and what dead processes left."""
    source, _, _ = name.partition("-")
    for entry in root.iterdir():
        if entry.name.startswith(f"{source}-") and entry.name != name:
            remove_entry(entry)
        if entry.name.startswith(_UNFINISHED):
            try:
                age = time.time() - entry.stat().st_mtime
            except OSError:  # finished in the meantime
                continue
            if age > _ABANDONED:
                shutil.rmtree(entry, ignore_errors=True)
