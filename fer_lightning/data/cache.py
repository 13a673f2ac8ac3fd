"""Data sets parsed once: kept as .npy files and opened memory-mapped the next time."""

import inspect
import json
import os
import shutil
import time
import uuid
import warnings
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.readers import ReadOptions, read
from fer_lightning.data.readers.detect import locate
from fer_lightning.data.readers.trees import FolderTree

READER_VERSION = 1  # raise it when the readers give another result for the same file
FOLDER = ".fer_lightning_cache"
_DEFAULTS = {
    name: option.default
    for name, option in inspect.signature(read).parameters.items()
    if option.kind is option.KEYWORD_ONLY
}
_META = "meta.json"
_ARRAYS = ("images", "labels", "usage", "files", "soft", "masks")
_UNFINISHED = ".unfinished-"
_ABANDONED = 24 * 3600  # seconds after which an unfinished entry belongs to a process that died


class _DamagedError(Exception):
    """An entry that is not what was written."""


def checksum(array: NDArray[Any]) -> int:
    """Add up an array's bytes as 64-bit words: any cut or overwritten part shows, in 20 ms."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    whole = len(data) // 8 * 8
    words = data[:whole].view(np.uint64)
    return (int(words.sum(dtype=np.uint64)) + int(data[whole:].sum(dtype=np.uint64))) % 2**64


def _open_entry(folder: Path) -> ImageSet | None:
    """Open an entry memory-mapped, or return None if there is none."""
    if not folder.is_dir():
        return None
    try:
        meta = json.loads((folder / _META).read_text(encoding="utf-8"))
        arrays: dict[str, Any] = {}
        for name, expected in meta["arrays"].items():
            arrays[name] = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            if _description(arrays[name]) != expected:
                raise ValueError(f"{name}.npy has changed")
        return ImageSet(
            name=meta["name"],
            classes=tuple(meta["classes"]),
            mask_regions=tuple(meta["mask_regions"]),
            notes=meta["notes"],
            known_fingerprint=meta["fingerprint"],
            **arrays,
        )
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _DamagedError(f"{type(error).__name__}: {error}") from error


def _description(array: NDArray[Any]) -> dict[str, object]:
    return {"shape": list(array.shape), "dtype": array.dtype.str, "sum": checksum(array)}


def write_entry(root: Path, name: str, found: ImageSet, source: str) -> None:
    """Write an entry under a temporary name, then rename it; one that is there already stays."""
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


def _remove_entry(folder: Path) -> None:
    """Remove an entry in one step, so that nobody opens a half-removed one."""
    trash = folder.with_name(f"{_UNFINISHED}{uuid.uuid4().hex}")
    try:
        folder.rename(trash)
    except OSError:  # gone already, or nothing may be removed here
        return
    shutil.rmtree(trash, ignore_errors=True)


def _remove_outdated(root: Path, name: str) -> None:
    """Remove older entries of the same source and options, and what dead processes left."""
    source, _, _ = name.partition("-")
    for entry in root.iterdir():
        if entry.name.startswith(f"{source}-") and entry.name != name:
            _remove_entry(entry)
        if entry.name.startswith(_UNFINISHED):
            try:
                age = time.time() - entry.stat().st_mtime
            except OSError:  # finished in the meantime
                continue
            if age > _ABANDONED:
                shutil.rmtree(entry, ignore_errors=True)


def load(
    path: str | PathLike[str],
    cache_dir: str | PathLike[str] | None = None,
    **options: Unpack[ReadOptions],
) -> ImageSet:
    r"""Read a data set, or open what an earlier call has kept of it.

    An entry belongs to one source as it is now (path, size, time of change; for a folder those of
    every file) read with these options; a changed source is read again and its old entry removed.
    A damaged entry is noticed, told in a warning and made anew. Where nothing can be written the
    data set is read without a cache, with a warning.

    Args:
        path: file or folder, as for `read`.
        cache_dir: folder to keep entries in; by default ``.fer_lightning_cache`` beside the
            source or, where that cannot be written, the user's cache folder.
        options: the options of `read`.

    Returns:
        The data set, its arrays memory-mapped read-only and its fingerprint known, unless it could
        not be kept.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     row = " ".join(["7"] * 2304)
    ...     _ = Path(folder, "faces.csv").write_text(f"emotion,pixels\n3,{row}\n")
    ...     first, second = load(folder), load(folder)
    >>> first.fingerprint == second.fingerprint, type(second.images).__name__
    (True, 'memmap')
    """
    source = locate(Path(path), options.get("kind", "auto")).path.resolve()
    wanted = _readable({**_DEFAULTS, **options})
    state = _state(source, options)
    name = f"{_digest(str(source), wanted)}-{_digest(state, READER_VERSION)}"
    roots = _default_roots(source) if cache_dir is None else [Path(cache_dir)]
    for root in roots:
        kept = _open_or_remove(root / name)
        if kept is not None:
            return kept
    found = read(path, **options)
    if _state(source, options) != state:  # changed while it was read
        return found
    return _keep(found, roots, name, str(source))


def _open_or_remove(entry: Path) -> ImageSet | None:
    try:
        return _open_entry(entry)
    except _DamagedError as damage:
        warnings.warn(
            f"the cache in {entry} is damaged and will be made anew ({damage})", stacklevel=3
        )
        _remove_entry(entry)
        return None


def _keep(found: ImageSet, roots: list[Path], name: str, source: str) -> ImageSet:
    reasons = []
    for root in roots:
        try:
            write_entry(root, name, found, source)
            _remove_outdated(root, name)
        except OSError as error:  # not writable, or the disk is full
            reasons.append(f"{root}: {error.strerror or error}")
            continue
        return _open_or_remove(root / name) or found
    warnings.warn(
        f"the data set could not be cached ({'; '.join(reasons)}) and will be read anew each "
        "time; set cache_dir to a folder that can be written",
        stacklevel=3,
    )
    return found


def _default_roots(source: Path) -> list[Path]:
    """Return where to keep entries: beside the source, then the user's cache folder."""
    roots = [source.parent / FOLDER]
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    except RuntimeError:  # no home folder
        return roots
    return [*roots, Path(base, "fer_lightning")]


def _state(source: Path, options: ReadOptions) -> list[object]:
    """Return what changes when the source or the votes do."""
    votes = options.get("ferplus")
    return [_file_state(source), None if votes is None else _file_state(Path(votes))]


def _file_state(path: Path) -> object:
    if path.is_dir():
        tree = FolderTree(path)
        return [list(tree.members.items()), list(tree.modified.values())]
    if not path.exists():  # the reader will say so
        return None
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _readable(options: dict[str, object]) -> object:
    """Return options as JSON knows them; a path to votes counts as the file it leads to."""
    votes = options["ferplus"]
    names = options["class_names"]
    return {
        **options,
        "ferplus": None if votes is None else str(Path(str(votes)).resolve()),
        "class_names": dict(names) if names else None,  # type: ignore[call-overload]
    }


def _digest(*parts: object) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
