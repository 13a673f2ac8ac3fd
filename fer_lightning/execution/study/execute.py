"""Training the cells of a study, one process after the other, so that it can always go on."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fer_lightning.errors import UserError
from fer_lightning.execution.study.cell_folder import CellFolder
from fer_lightning.execution.study.cells import Cell
from fer_lightning.execution.training import TICK, Outcome, Stopped, Training, asked_to_stop


@dataclass
class Job:
    """A cell and its folder.

    Args:
        cell: what is trained.
        folder: where.
        done: whether it was complete before, perhaps elsewhere.
    """

    cell: Cell
    folder: CellFolder
    done: bool = False
    began: float | None = field(default=None, compare=False)  # monotonic seconds, while it runs


def nothing(job: Job | None) -> None:
    """Watch nothing."""


def execute(
    jobs: Sequence[Job],
    command: Callable[[CellFolder], list[str]],
    watch: Callable[[Job | None], None] = nothing,
    retry_failed: bool = False,
) -> dict[str, Outcome]:
    """Train all cells that are not done; a cell that fails stops no other.

    Args:
        jobs: the cells.
        command: the command line that trains the cell of a folder, or goes on with it.
        watch: called several times a second with the job at work, and with None at the end.
        retry_failed: also go on with those that failed in an earlier call.

    Returns:
        How each cell that was worked on ended, by name. ``stopped`` were killed from outside:
        the next call goes on with them.

    Raises:
        Stopped: SIGINT, SIGTERM or SIGHUP came; it was passed on and the training has ended.
    """
    outcomes: dict[str, Outcome] = {}
    with asked_to_stop() as asked:
        for job in jobs:
            if job.done or (job.folder.state == "failed" and not retry_failed):
                continue
            job.began = time.monotonic()
            outcomes[job.cell.name] = train(job, command, watch, asked)
            job.done = outcomes[job.cell.name] == "done"
            job.began = None
            watch(job)
            if asked:
                raise Stopped
    watch(None)
    return outcomes


def train(
    job: Job,
    command: Callable[[CellFolder], list[str]],
    watch: Callable[[Job | None], None] = nothing,
    asked: Sequence[int] = (),
) -> Outcome:
    """Train one cell, or go on with it.

    Args:
        job: the cell.
        command: as for `execute`.
        watch: likewise.
        asked: signals that came; the training is ended when there is one.

    Raises:
        Stopped: a signal came.
    """
    folder = job.folder
    training = Training(
        folder.path,
        folder.log,
        command(folder),
        lambda: folder.done,
        lambda: folder.prepare(job.cell),
    )
    try:
        while (outcome := training.poll()) is None:
            if asked:
                raise Stopped
            watch(job)
            training.wait(TICK)
    finally:
        training.end()
    if outcome == "failed":
        if asked:
            return "stopped"
        folder.fail(training.code)
    return outcome


def place_jobs(
    cells: Sequence[Cell], out: Path, found: dict[str, Path], controls: bool
) -> list[Job]:
    """Say where each cell's run is or will be.

    Args:
        cells: of the study.
        out: the study's folder.
        found: identity to folder of runs that are complete already.
        controls: whether runs in `out` need the controls of ``fer-lightning focus``.

    Raises:
        UserError: `out` is no folder.
    """
    if out.exists() and not out.is_dir():
        raise UserError(
            f"expected a folder for the study but {out} is a file; choose another --out"
        )
    jobs = []
    for cell in cells:
        if cell.identity in found:
            jobs.append(Job(cell, CellFolder(found[cell.identity], controls=False), done=True))
        else:
            folder = CellFolder(out / cell.folder_name, controls)
            jobs.append(Job(cell, folder, done=folder.done))
    return jobs
