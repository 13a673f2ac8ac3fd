"""Finding the run folders of a study, and what its study.json says of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fer_lightning.errors import UserError
from fer_lightning.runs.files import FILES, read_json
from fer_lightning.runs.run import Run

STUDY = "study.json"  # the cells of a study and where their folders lie
# a folder with one of these is a run's
MARKS = [FILES[name].name for name in ("summary", "config", "cell", "metrics", "tensorboard")]
DEEPEST = 4  # folders between a run and the folder that was given
MOST = 100_000  # entries of a folder, and run folders


@dataclass(frozen=True)
class Found:
    """Folders to read, and what is expected of them."""

    paths: list[Path] = field(default_factory=list)  # run folders, complete or not
    # identity to name of the study's cells; empty without a study
    expected: dict[str, str] = field(default_factory=dict)
    # folder to the cell that a study takes it for
    labels: dict[Path, Mapping[str, Any]] = field(default_factory=dict)
    study: Mapping[str, Any] = field(default_factory=dict)  # content of the first study.json

    def labelled(self, run: Run) -> Run:
        """Name a run as the study does."""
        cell = self.labels.get(run.path)
        if cell is None:
            return run
        return replace(run, model=cell["model"], identity=cell["identity"])

    def rank(self, model: str) -> tuple[int, str]:
        """Place of a model in the study's order; others come after, by name."""
        known = list(self.study.get("models", []))
        return (known.index(model) if model in known else len(known), model)


def find_folders(roots: Sequence[Path]) -> Found:
    """Look for run folders in and directly below the given ones.

    Raises:
        UserError: there is no such folder, or study.json is damaged.
    """
    found = Found()
    paths: dict[Path, None] = {}
    for root in roots:
        if not root.is_dir():
            raise UserError(f"expected a folder of runs but there is none at {root}")
        if (root / STUDY).is_file():
            study = _read_study(root / STUDY)
            found = replace(found, study=found.study or study)
            for cell in study["cells"]:
                found.expected[cell["identity"]] = cell["name"]
                folder = root / cell["folder"]
                if folder.is_dir():
                    paths[folder] = None
                    found.labels[folder] = cell
        paths |= dict.fromkeys(runs_below(root))
    found.paths.extend(paths)
    return found


def _read_study(path: Path) -> dict[str, Any]:
    study = read_json(path)
    cells = study.get("cells")
    names = ("identity", "name", "model", "folder")
    if not isinstance(cells, list) or not all(
        isinstance(cell, dict) and all(isinstance(cell.get(name), str) for name in names)
        for cell in cells
    ):
        raise UserError(f"expected the cells of a study in {path} but it is damaged; run it again")
    return study


def find_runs(root: Path) -> dict[str, Path]:
    """Return the run folders by the name they are shown under: the path from `root`.

    Raises:
        UserError: there is no such folder, or it holds far too many.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     for name in ("study/cell", "single", "empty"):
    ...         Path(place, name).mkdir(parents=True)
    ...     for name in ("study/cell", "single"):
    ...         Path(place, name, FILES["config"].name).touch()
    ...     sorted(find_runs(Path(place)))
    ['single', 'study/cell']
    """
    if not root.is_dir():
        found = "a file" if root.exists() else "nothing"
        raise UserError(
            f"expected a folder of runs but found {found} at {root}; train one with "
            "fer-lightning fit, or name another folder"
        )
    if _is_run(root):
        return {root.resolve().name: root}
    runs = {path.relative_to(root).as_posix(): path for path in _below(root, DEEPEST)}
    if len(runs) > MOST:
        raise UserError(f"expected at most {MOST:,} runs but found {len(runs):,} in {root}")
    return runs


def runs_below(root: Path) -> list[Path]:
    """Return the run folders in a folder, or the folder itself if it is one."""
    entries = len(list(root.iterdir()))
    if entries > MOST and not _is_run(root):
        raise UserError(f"expected a folder of runs but {root} holds {entries:,} entries")
    return _below(root, 1)


def _below(folder: Path, depth: int) -> list[Path]:
    """Return the folder if it is a run's, else the runs that lie at most so many levels below."""
    if _is_run(folder) or not depth:
        return [folder] if _is_run(folder) else []
    if _only_predicts(folder):
        return []
    try:
        children = sorted(child for child in folder.iterdir() if not child.name.startswith("."))
        inside = [child for child in children if child.is_dir()]
    except OSError:  # not ours to read, or gone in the meantime
        return []
    return [run for child in inside for run in _below(child, depth - 1)]


def _is_run(folder: Path) -> bool:
    """Whether a folder is that of a run, complete or not."""
    return any((folder / mark).exists() for mark in MARKS) and not _only_predicts(folder)


def _only_predicts(folder: Path) -> bool:
    """Whether ``predict`` wrote its answers there, which trains and measures nothing."""
    measured = (FILES[name].name for name in ("summary", "metrics"))
    is_there = (folder / FILES["answers"].name).is_file()
    return is_there and not any((folder / name).exists() for name in measured)
