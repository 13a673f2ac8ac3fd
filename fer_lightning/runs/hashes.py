"""Whether the files of a run are still those that it wrote: a hash of each, kept beside them."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fer_lightning.errors import UserError
from fer_lightning.runs.files import FILES, known_file, read_json, write_json

NAME = FILES["hashes"].name
# Written anew or added to after a run is complete, by a tracker, a report or another command.
OPEN = ("hashes", "tensorboard", "wandb", "report", "log", "failed", "lock", "cell", "near_twins")
PASSING = (".", "previous")  # while a run is not complete
State = Literal["whole", "changed", "missing", "damaged", "not hashed"]
ADVICE = {
    "checkpoints": "copy it again from where the run was made, or train again",
    "predictions": "measure again: fer-lightning test with the run's config and checkpoint",
}


class Finding(NamedTuple):
    """What became of one file."""

    file: str  # path in the folder
    state: State
    advice: str = ""


def digest(data: bytes) -> str:
    """Hash the content of a file.

    >>> digest(b"")[:8]
    'cae66941'
    """
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def file_digest(path: Path) -> str:
    """Hash a file, part by part."""
    with path.open("rb") as file:
        whole = hashlib.blake2b(digest_size=16)
        while part := file.read(1 << 20):
            whole.update(part)
    return whole.hexdigest()


def finished_files(folder: Path) -> Iterator[Path]:
    """Yield the files that a complete run does not change any more, sorted."""
    for path in sorted(folder.iterdir()):
        kind = known_file(path)
        if kind is None or kind in OPEN or path.is_symlink():
            continue
        if path.is_file():
            yield path
        else:
            inside = (p for p in sorted(path.iterdir()) if p.suffix in (".ckpt", ".png"))
            yield from (p for p in inside if p.is_file() and not p.name.startswith(PASSING))


def finish(folder: Path, summary: dict[str, Any]) -> None:
    """Write the hashes of a run's files and, last, its summary: the run is complete.

    Args:
        folder: of the run; a checkpoint that is removed at its end is gone already.
        summary: content of summary.json.
    """
    name = FILES["summary"].name
    known = {
        path.relative_to(folder).as_posix(): file_digest(path)
        for path in finished_files(folder)
        if path.name != name
    }
    known[name] = digest(json.dumps(summary, indent=1).encode())
    write_json(folder / NAME, {"blake2b": known})
    write_json(folder / name, summary)


def check_run(folder: Path) -> list[Finding]:
    """Compare a run folder with its hashes, file by file.

    Files without a hash, such as those of earlier versions, are read where there is a reader.
    """
    known = _known(folder)
    found = [_compared(folder, name, known[name]) for name in sorted(known)]
    for path in finished_files(folder):
        name = path.relative_to(folder).as_posix()
        if name not in known:
            found.append(_read(path, name))
    return found


def _known(folder: Path) -> dict[str, str]:
    """Hashes by path; {} in runs of before.

    Raises:
        UserError: the list is damaged or names files elsewhere.
    """
    path = folder / NAME
    if not path.is_file():
        return {}
    known = read_json(path).get("blake2b")
    if not isinstance(known, dict) or not all(
        isinstance(value, str) and _is_inside(name) for name, value in known.items()
    ):
        raise UserError(
            f"expected hashes of files of the run in {path} but it is damaged; copy it again"
        )
    return known


def _is_inside(name: str) -> bool:
    parts = Path(name).parts
    return len(parts) in (1, 2) and not Path(name).is_absolute() and ".." not in parts


def _compared(folder: Path, name: str, known: str) -> Finding:
    path = folder / name
    kind = known_file(folder / Path(name).parts[0]) or ""
    advice = ADVICE.get(kind, "copy it again from where the run was made")
    if not path.is_file():
        return Finding(name, "missing", advice)
    try:
        same = file_digest(path) == known
    except OSError as error:
        return Finding(name, "damaged", error.strerror or "it cannot be read")
    return Finding(name, "whole") if same else Finding(name, "changed", advice)


def _read(path: Path, name: str) -> Finding:
    """Read a file without a hash."""
    reader = FILES[known_file(path) or "lock"].reader
    try:
        if reader is not None:
            reader(path)
    except UserError as error:
        return Finding(name, "damaged", str(error))
    return Finding(name, "not hashed")
