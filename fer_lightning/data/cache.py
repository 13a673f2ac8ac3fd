"""Data sets parsed once: kept as .npy files and opened memory-mapped the next time."""

import inspect
import json
import os
import shutil
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import blake2b, sha256
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.readers import ReadOptions, read
from fer_lightning.data.readers.detect import locate
from fer_lightning.data.readers.room import room_in, whole_file
from fer_lightning.data.readers.trees import FolderTree
from fer_lightning.data.twins import VERSION, Twins, find_twins
from fer_lightning.errors import UserError

MANY = 5000  # pictures whose near-twins take more than a moment
READER_VERSION = 1  # raise it when the readers give another result for the same file
CACHE_VERSION = 2  # raise it when entries are written in another way
FOLDER = ".fer_lightning_cache"
_DEFAULTS = {
    name: option.default
    for name, option in inspect.signature(read).parameters.items()
    if option.kind is option.KEYWORD_ONLY
}
_META = "meta.json"
_ARRAYS = ("images", "labels", "usage", "files", "soft", "masks")
_IN_FINGERPRINT = ("images", "labels", "usage", "soft")
_UNFINISHED = ".unfinished-"
_ABANDONED = 24 * 3600  # seconds after which an unfinished entry belongs to a process that died


class _DamagedError(Exception):
    """An entry that is not what was written."""


class WholeFile(np.memmap):
    """An array in a file that says so when the file is cut while it is in use.

    The system would end the process at the first missing byte, without a word.
    """

    def __getitem__(self, index: Any) -> Any:
        """Take values, unless the file has become shorter.

        Raises:
            UserError: it has.
        """
        file = getattr(self, "_mmap", None)  # None for what was copied out of the file
        if file is not None and file.size() < len(file):
            raise UserError(
                f"expected {self.filename} as it was when it was opened but it was cut while in "
                "use; start again, it is then made anew"
            )
        found = super().__getitem__(index)
        copied = isinstance(found, WholeFile) and getattr(found, "_mmap", None) is None
        return found.view(np.ndarray) if copied else found

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return what is computed from the values as plain arrays and numbers."""
        found = np.asarray(array)
        return found[()] if found.ndim == 0 else found


def checksum(array: NDArray[Any]) -> str:
    """Hash an array's bytes; moved, cut and overwritten parts show."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return blake2b(data.data, digest_size=16).hexdigest()


def _open_entry(folder: Path) -> ImageSet | None:
    """Open an entry memory-mapped, or return None if there is none.

    The fingerprint is computed from what is there, which checks most of it at the same time.
    """
    if not folder.is_dir():
        return None
    try:
        meta = json.loads((folder / _META).read_text(encoding="utf-8"))
        arrays: dict[str, Any] = {}
        for name, expected in meta["arrays"].items():
            kept = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            if _description(name, kept) != expected:
                raise ValueError(f"{name}.npy has changed")
            arrays[name] = kept.view(WholeFile)
        found = ImageSet(
            name=meta["name"],
            classes=tuple(meta["classes"]),
            mask_regions=tuple(meta["mask_regions"]),
            notes=meta["notes"],
            **arrays,
        )
        if found.fingerprint != meta["fingerprint"]:
            raise ValueError("images, labels, usage or classes have changed")
        return replace(found, known_fingerprint=found.fingerprint)
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _DamagedError(f"{type(error).__name__}: {error}") from error


def _description(name: str, array: NDArray[Any]) -> dict[str, object]:
    """What an array must look like; what is not in the fingerprint has a hash of its own."""
    about: dict[str, object] = {"shape": list(array.shape), "dtype": array.dtype.str}
    return about if name in _IN_FINGERPRINT else about | {"blake2b": checksum(array)}


def _make_root(root: Path) -> None:
    """Make a folder for entries, hidden from git; one that is there already may be the user's."""
    root.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        root.mkdir()
        (root / ".gitignore").write_text("*\n")


def write_entry(root: Path, name: str, found: ImageSet, source: str) -> None:
    """Write an entry under a temporary name, then rename it; one that is there already stays."""
    _make_root(root)
    unfinished = root / f"{_UNFINISHED}{uuid.uuid4().hex}"
    unfinished.mkdir()
    try:
        arrays = {key: getattr(found, key) for key in _ARRAYS if getattr(found, key) is not None}
        for key, array in arrays.items():
            written = whole_file(array) if key == "images" else None
            if written is not None and written.stat().st_dev == unfinished.stat().st_dev:
                written.rename(unfinished / f"{key}.npy")
            else:
                np.save(unfinished / f"{key}.npy", array, allow_pickle=False)
        meta = {
            "source": source,
            "name": found.name,
            "classes": found.classes,
            "mask_regions": found.mask_regions,
            "notes": found.notes,
            "fingerprint": found.fingerprint,
            "arrays": {key: _description(key, array) for key, array in arrays.items()},
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


def _remove_outdated(root: Path, name: str) -> None:
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
    >>> first.fingerprint == second.fingerprint, isinstance(second.images, np.memmap)
    (True, True)
    """
    source = locate(Path(path), options.get("kind", "auto")).path.resolve()
    wanted = _readable({**_DEFAULTS, **options})
    state = _state(source, options)
    name = f"{_digest(str(source), wanted)}-{_digest(state, READER_VERSION, CACHE_VERSION)}"
    roots = _default_roots(source) if cache_dir is None else [Path(cache_dir)]
    for root in roots:
        kept = _open_or_remove(root / name)
        if kept is not None:
            return kept
    with _scratch(roots) as folder, room_in(folder):
        found = read(path, **options)
        if _state(source, options) != state:  # changed while it was read
            return found
        return _keep(found, roots, name, str(source))


@contextmanager
def _scratch(roots: list[Path]) -> Iterator[Callable[[], Path | None]]:
    """Give a way to make a folder for pictures while they are read, where the entry will be."""
    made: list[Path] = []

    def make() -> Path | None:
        for root in () if made else roots:
            folder = root / f"{_UNFINISHED}{uuid.uuid4().hex}"
            with suppress(OSError):  # nothing can be written there
                _make_root(root)
                folder.mkdir()
                made.append(folder)
                break
        return made[0] if made else None

    try:
        yield make
    finally:
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)


def _open_or_remove(entry: Path) -> ImageSet | None:
    try:
        return _open_entry(entry)
    except _DamagedError as damage:
        warnings.warn(
            f"the cache in {entry} is damaged and will be made anew ({damage})", stacklevel=3
        )
        remove_entry(entry)
        return None


def is_entry(folder: Path) -> bool:
    """Tell whether a folder is an entry of a cache, whole or damaged."""
    name, _, state = folder.name.partition("-")
    return (folder / _META).is_file() or (
        folder.is_dir() and len(name) == len(state) == 16 and (folder / "images.npy").is_file()
    )


def check_entry(folder: Path) -> str:
    """Say what is wrong with an entry; "" where it is what was written."""
    try:
        _open_entry(folder)
    except _DamagedError as damage:
        return str(damage)
    return ""


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


# --- Near-twins, found once for each data set


def twins_of(
    data: ImageSet,
    path: str | PathLike[str] | None = None,
    cache_dir: str | PathLike[str] | None = None,
    say: Callable[[str], None] | None = None,
) -> Twins:
    """Find the near-twins of a data set, or open what an earlier call has found.

    Args:
        data: without a planted cue.
        path: where it was read from, as for `load`; None for pictures in memory, whose twins are
            sought each time unless there is a `cache_dir`.
        cache_dir: as for `load`.
        say: is told that they are sought, where that takes a while.

    Raises:
        UserError: as `find_twins`.
    """
    roots = [] if cache_dir is None else [Path(cache_dir)]
    if path is not None and cache_dir is None:
        roots = _default_roots(locate(Path(path), "auto").path.resolve())
    name = f"twins-{data.fingerprint}-{VERSION}.{CACHE_VERSION}.npy"
    for root in roots:
        if (root / name).is_file():
            try:
                return _open_twins(root / name, len(data))
            except _DamagedError as damage:
                warnings.warn(
                    f"the near-twins in {root / name} are damaged and will be sought anew "
                    f"({damage})",
                    stacklevel=2,
                )
    if say is not None and len(data) >= MANY:
        say(f"Looking for near-twins among {len(data):,} pictures, once; this may take minutes.")
    found = find_twins(data.images)
    _keep_twins(found, roots, name)
    return found


def _open_twins(path: Path, images: int) -> Twins:
    """Read what `_keep_twins` has written: one row of whole numbers."""
    try:
        numbers = np.load(path, mmap_mode="r", allow_pickle=False)
        if numbers.dtype != np.int64 or numbers.ndim != 1 or len(numbers) < 3:
            raise ValueError(f"it holds {numbers.dtype} of shape {numbers.shape}")
        N, M, total = numbers[:3].tolist()
        content = np.array(numbers[3:])
        if images != N or M < 0 or len(content) != 2 * N + 4 * M or _hash(content) != total:
            raise ValueError("it has changed")
    except (OSError, EOFError, ValueError) as error:
        raise _DamagedError(f"{type(error).__name__}: {error}") from error
    copies, groups, pairs, correlation, mirrored = np.split(content, np.cumsum([N, N, 2 * M, M]))
    found = correlation.view(np.float64).astype(np.float32)
    return Twins(copies, pairs.reshape(M, 2), found, mirrored.astype(np.bool_), groups)


def _hash(numbers: NDArray[np.int64]) -> int:
    """A hash that fits in int64."""
    return int(checksum(numbers)[:15], 16)


def _keep_twins(twins: Twins, roots: list[Path], name: str) -> None:
    """Write them where it is possible, under a temporary name first."""
    correlation = twins.correlation.astype(np.float64).view(np.int64)
    parts = (twins.copies, twins.groups, twins.pairs.ravel(), correlation, twins.mirrored)
    content = np.concatenate([part.astype(np.int64) for part in parts])
    head = np.array([len(twins), len(twins.pairs), _hash(content)], np.int64)
    reasons = []
    for root in roots:
        unfinished = root / f"{_UNFINISHED}{uuid.uuid4().hex}.npy"
        try:
            _make_root(root)
            np.save(unfinished, np.concatenate([head, content]), allow_pickle=False)
            unfinished.replace(root / name)
            return
        except OSError as error:
            reasons.append(f"{root}: {error.strerror or error}")
            with suppress(OSError):  # nothing may be there, or nothing removed
                unfinished.unlink()
    if reasons:
        warnings.warn(
            f"the near-twins could not be kept ({'; '.join(reasons)}) and will be sought anew each "
            "time; set cache_dir to a folder that can be written",
            stacklevel=3,
        )


def _default_roots(source: Path) -> list[Path]:
    """Return where to keep entries: beside the source, then the user's cache folder."""
    roots = [source.parent / FOLDER]
    try:
        return [*roots, user_folder()]
    except RuntimeError:  # no home folder
        return roots


def user_folder() -> Path:
    """The user's cache folder.

    Raises:
        RuntimeError: there is no home folder.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(), "fer_lightning")


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
