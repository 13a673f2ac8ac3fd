"""The folder of a run: where its files lie, a new one, or one that was interrupted."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from fer_lightning.errors import UserError
from fer_lightning.runs.choices import same_settings
from fer_lightning.runs.files import FILES, atomic, write_json

__all__ = [
    "NOTES",
    "RunFolder",
    "atomic",
    "new_run_folder",
    "unfinished_run",
    "whole_folder",
    "write_json",
]
NOTES = "notes.json"  # lists, under "files", what was written into a folder of results
MAX_NOTES = 16 << 20  # bytes


class _Place:
    """Where an artefact of `FILES` lies in a run folder."""

    def __init__(self, artefact: str) -> None:
        self.name = FILES[artefact].name

    def __get__(self, folder: "RunFolder", kind: type) -> Path:
        return folder.path / self.name


@dataclass(frozen=True)
class RunFolder:
    """Where everything lies that a run leaves behind, see `FILES`; `summary` is written last."""

    path: Path
    config = _Place("config")
    run = _Place("run")
    split = _Place("split")
    metrics = _Place("metrics")
    predictions = _Place("predictions")
    summary = _Place("summary")
    checkpoints = _Place("checkpoints")
    tensorboard = _Place("tensorboard")

    @property
    def last_checkpoint(self) -> Path:
        """State after the last complete epoch."""
        return self.checkpoints / "last.ckpt"

    @property
    def previous_checkpoint(self) -> Path:
        """The one before the last, while the run is not complete."""
        return self.checkpoints / "previous.ckpt"

    @property
    def resumable(self) -> list[Path]:
        """What there is to go on from, newest first."""
        return [p for p in (self.last_checkpoint, self.previous_checkpoint) if p.is_file()]

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
            RunFolder(path).checkpoints.mkdir()
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
        if folder.config.is_file() and same_settings(config, folder.config)
    ]
    newest_last = sorted(same, key=lambda f: (not f.complete, f.config.stat().st_mtime_ns))
    return newest_last[-1] if same else None


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
