"""Training the cells of a study, so that it can always be interrupted and resumed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fer_lightning.errors import UserError
from fer_lightning.execution.study.cells import Cell, CellFolder
from fer_lightning.execution.study.plan import FocusPlan
from fer_lightning.execution.training import TICK, Outcome, Stopped, asked_to_stop
from fer_lightning.execution.workers import Workers, nothing


@dataclass
class Job:
    """A cell and its folder."""

    cell: Cell
    folder: CellFolder
    done: bool = False  # whether it is complete, perhaps elsewhere
    began: float | None = field(default=None, compare=False)  # monotonic seconds, while it runs
    took: float = field(default=0.0, compare=False)  # seconds in this call, once it has ended


def execute(
    jobs: Sequence[Job],
    workers: Workers,
    watch: Callable[[Job | None], None] = nothing,
    retry_failed: bool = False,
) -> dict[str, Outcome]:
    """Train all cells that are not done; a cell that fails stops no other.

    Args:
        jobs: the cells.
        workers: who trains them.
        watch: called several times a second with each job at work, and with None at the end.
        retry_failed: also go on with those that failed in an earlier call.

    Returns:
        How each cell that was worked on ended, by name. ``stopped`` were killed from outside:
        the next call goes on with them.

    Raises:
        Stopped: SIGINT, SIGTERM or SIGHUP came; it was passed on and the trainings have ended.
    """
    todo = [j for j in jobs if not j.done and (retry_failed or j.folder.state != "failed")]
    running: dict[str, Job] = {}
    outcomes: dict[str, Outcome] = {}
    with asked_to_stop() as asked:
        try:
            while todo or running:
                if asked:
                    raise Stopped
                while todo and workers.free:
                    job = todo.pop(0)
                    job.began = time.monotonic()
                    running[job.folder.path.name] = job
                    workers.start(job.folder, partial(job.folder.prepare, job.cell))
                ended = list(workers.ended())
                for name, outcome, code in ended:
                    job = running.pop(name)
                    if outcome == "failed" and asked:
                        outcome = "stopped"
                    elif outcome == "failed":
                        job.folder.fail(code)
                    if job.began is not None:
                        job.took = time.monotonic() - job.began
                    job.began, job.done = None, outcome == "done"
                    outcomes[job.cell.name] = outcome
                    watch(job)
                for job in running.values():
                    watch(job)
                if running and not ended:
                    workers.wait(TICK)
        finally:
            workers.end()
    watch(None)
    return outcomes


def place_jobs(
    cells: Sequence[Cell], out: Path, found: dict[str, Path], focus: FocusPlan | None = None
) -> list[Job]:
    """Say where each cell's run is or will be.

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
            jobs.append(Job(cell, CellFolder(found[cell.identity]), done=True))
        else:
            folder = CellFolder(out / cell.folder_name, focus)
            jobs.append(Job(cell, folder, done=folder.done))
    return jobs
