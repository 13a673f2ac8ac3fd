"""Gathering the run folders of a study, wherever they lie."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from fer_lightning.errors import UserError
from fer_lightning.study.collection import Collection, Correct
from fer_lightning.study.folders import Found, find_folders
from fer_lightning.study.run import Run, cell_name, read_run

__all__ = ["Collection", "Correct", "collect"]


def collect(folders: Iterable[Path | str]) -> Collection:
    """Gather the finished runs of a study.

    Each folder may be a study's (with study.json), a run's, a slim copy of a run's, or one that
    holds any of these, such as folders copied together from several machines. Runs that are
    half-written or damaged are left out and named; a run that was found twice counts once.

    Args:
        folders: where to look.

    Raises:
        UserError: runs of different data sets; or two different runs for the same cell.
    """
    found = find_folders([Path(folder) for folder in folders])
    runs: dict[str, Run] = {}
    left_out = dict(found.left_out)
    for path in found.paths:
        try:
            run = found.labelled(read_run(path))
        except UserError as error:
            left_out[str(path)] = str(error)
            continue
        if found.expected and run.identity not in found.expected:
            left_out[str(path)] = "it is no cell of this study as it stands now"
            continue
        _check_data(run, runs)
        twin = runs.setdefault(run.name, run)
        if twin is not run:
            _check_twin(twin, run)
            left_out[str(path)] = f"it is the same run as {twin.path}"
    ordered = sorted(runs.values(), key=lambda r: (found.rank(r.model), r.fraction, r.seed))
    return Collection(tuple(ordered), _missing(found, runs), left_out, found.study)


def _check_data(run: Run, runs: Mapping[str, Run]) -> None:
    other = next(iter(runs.values()), run)
    if run.fingerprint != other.fingerprint:
        raise UserError(
            f"expected runs of one data set but {other.path} is of {other.summary.get('data')} "
            f"({other.fingerprint}) and {run.path} of {run.summary.get('data')} "
            f"({run.fingerprint}); collect them apart"
        )


def _check_twin(one: Run, other: Run) -> None:
    """Two folders for one cell must hold the same run, as copies or repetitions do."""
    if one.identity != other.identity or not (
        one.identity or one.summary.get("started") == other.summary.get("started")
    ):
        raise UserError(
            f"expected one run for {one.name} but {one.path} and {other.path} were trained "
            "differently; remove one of them"
        )


def _missing(found: Found, runs: Mapping[str, Run]) -> tuple[str, ...]:
    """Name cells without a run: the study's, or those that complete the grid of what is there."""
    if found.expected:
        wanted = list(found.expected.values())
    else:
        axes = [
            dict.fromkeys(getattr(run, axis) for run in runs.values())
            for axis in ("model", "fraction", "seed")
        ]
        wanted = [cell_name(m, f, s) for m in axes[0] for f in axes[1] for s in axes[2]]
    return tuple(name for name in wanted if name not in runs)
