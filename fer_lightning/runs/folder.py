"""The folder of a run: its files, written whole or not at all, and finding it again."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from fer_lightning.errors import UserError


@dataclass(frozen=True)
class RunFolder:
    """Names of everything a run leaves behind; `summary` is written last."""

    path: Path

    @property
    def config(self) -> Path:
        """The whole configuration, usable as ``--config``."""
        return self.path / "config.yaml"

    @property
    def run(self) -> Path:
        """When and how the run was started, what substitutes for what, versions."""
        return self.path / "run.json"

    @property
    def split(self) -> Path:
        """Rows of train, validation and test."""
        return self.path / "split.json"

    @property
    def metrics(self) -> Path:
        """One row per epoch."""
        return self.path / "metrics.csv"

    @property
    def predictions(self) -> Path:
        """Logits and labels of the test images."""
        return self.path / "predictions.npz"

    @property
    def summary(self) -> Path:
        """Final numbers; its presence says that the run is complete."""
        return self.path / "summary.json"

    @property
    def checkpoints(self) -> Path:
        """Folder of best.ckpt and last.ckpt."""
        return self.path / "checkpoints"

    @property
    def tensorboard(self) -> Path:
        """Folder of TensorBoard's event files."""
        return self.path / "tensorboard"

    @property
    def last_checkpoint(self) -> Path:
        """State after the last complete epoch."""
        return self.checkpoints / "last.ckpt"

    @property
    def best_checkpoint(self) -> Path:
        """State of the epoch with the best validation accuracy."""
        return self.checkpoints / "best.ckpt"

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return self.summary.is_file()

    def remove_if_empty(self) -> None:
        """Take a folder back in which nothing was written."""
        with suppress(OSError):  # of a folder that is not empty
            self.checkpoints.rmdir()
            self.path.rmdir()


@contextmanager
def atomic(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file that appears under its name only when it was written completely.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "a.txt")
    ...     with atomic(target) as file:
    ...         _ = file.write("x")
    ...         existed = target.exists()
    ...     existed, target.read_text()
    (False, 'x')
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, mode) as file:
            yield file
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file atomically."""
    with atomic(path) as file:
        json.dump(content, file, indent=1)


def new_run_folder(root: Path, name: str) -> RunFolder:
    """Create ``root/name``, or ``root/name-2`` and so on where it is taken.

    Raises:
        UserError: the folder cannot be created.
    """
    number = 1
    while True:
        path = root / (name if number == 1 else f"{name}-{number}")
        try:
            root.mkdir(parents=True, exist_ok=True)
            path.mkdir()
            (path / "checkpoints").mkdir()
            return RunFolder(path)
        except FileExistsError:
            if not root.is_dir():
                raise UserError(f"expected a folder for runs but {root} is a file") from None
            number += 1
        except OSError as error:
            raise UserError(
                f"expected to write runs below {root} but cannot ({error.strerror}); "
                "choose another place with --runs_dir"
            ) from error


def unfinished_run(root: Path, config: str) -> RunFolder | None:
    """Return the newest run of the same configuration: an unfinished one if there is any."""
    same = [
        folder
        for folder in map(RunFolder, root.glob("*"))
        if folder.config.is_file() and folder.config.read_text() == config
    ]
    newest_last = sorted(same, key=lambda f: (not f.complete, f.config.stat().st_mtime_ns))
    return newest_last[-1] if same else None


# --- A folder of results that appears whole or not at all


NOTES = "notes.json"  # lists, under "files", what was written into the folder
MAX_NOTES = 16 << 20  # bytes


@contextmanager
def whole_folder(out: Path, overwrite: bool = False) -> Iterator[Path]:
    """Give an empty folder beside `out`, which takes its place when all is written.

    After an exception nothing remains of it, and what was at `out` stays. An earlier result is
    replaced only if asked for and if it holds nothing but the files that its notes list.

    Args:
        out: where the results shall lie.
        overwrite: replace an earlier result.

    Yields:
        The folder to write into.

    Raises:
        UserError: `out` cannot be written, or holds anything that may not be replaced.

    >>> with TemporaryDirectory() as place, whole_folder(Path(place, "out")) as folder:
    ...     _ = Path(folder, "a.txt").write_text("x")
    ...     before = Path(place, "out").exists()
    >>> before
    False
    """
    try:
        _check(out, overwrite)
        place = out.resolve()
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=place.parent, prefix=f".{place.name[:100]}.") as scratch:
            new, old = Path(scratch, "new"), Path(scratch, "old")
            new.mkdir()
            yield new
            _check(out, overwrite)  # it may have been filled in the meantime
            if place.exists():
                place.rename(old)
            try:
                new.rename(place)
            except OSError:
                if old.exists():
                    old.rename(place)
                raise
    except OSError as error:
        raise UserError(
            f"expected to write into {out} but cannot ({error.strerror}); choose another --out"
        ) from error


def _check(out: Path, overwrite: bool) -> None:
    """Refuse a place that is in use."""
    place = out.resolve()
    if not place.exists():
        return
    if not place.is_dir():
        raise UserError(f"expected a folder for results but {out} is a file; choose another --out")
    if place.is_mount() or Path.cwd().is_relative_to(place):
        raise UserError(
            f"expected a folder that can be made anew but {out} is a mounted or the current one; "
            f"choose a folder inside it, such as {out / 'results'}"
        )
    found = {path.relative_to(place).as_posix() for path in place.rglob("*")}
    if found and not overwrite:
        raise UserError(
            f"expected a new or empty folder but {out} holds {len(found)} files; "
            "choose another --out, or replace an earlier result with --overwrite"
        )
    foreign = sorted(found - _listed(place))
    if foreign:
        raise UserError(
            f"expected an earlier result to overwrite but {out} also holds {foreign[0]!r}, which "
            "is none; move it away or choose another --out"
        )


def _listed(folder: Path) -> set[str]:
    """Return the files that the notes of an earlier result list, none if there are no notes."""
    notes = folder / NOTES
    if not notes.is_file() or notes.stat().st_size > MAX_NOTES:
        return set()
    try:
        content = json.loads(notes.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return set()
    files = content.get("files") if isinstance(content, dict) else None
    return {name for name in files if isinstance(name, str)} if isinstance(files, list) else set()
