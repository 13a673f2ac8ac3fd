"""Training the cells of a study, one process after the other, so that it can always go on."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Literal

from fer_lightning.errors import UserError
from fer_lightning.study.cell_folder import CellFolder, try_lock
from fer_lightning.study.cells import Cell

Outcome = Literal["done", "failed", "stopped"]
TICK = 0.2  # seconds between looks at a training
PATIENCE = 60.0  # seconds that a training may take to end when asked to
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):  # noqa: N818 (not an error)
    """The user asked to stop; everything that was begun can go on."""


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
    folder.path.mkdir(parents=True, exist_ok=True)
    with (folder.path / "lock").open("a+") as lock:
        while not try_lock(lock):  # the training of a killed study is still at work here
            _look(job, watch, asked)
            time.sleep(TICK)
        if folder.done:
            return "done"
        folder.prepare(job.cell)
        with folder.log.open("ab") as log:
            process = _start(command(folder), log, lock)
            try:
                while process.poll() is None:
                    _look(job, watch, asked)
                    _wait(process, TICK)
            finally:
                _end(process)
        if process.returncode == 0 and folder.done:
            return "done"
        if process.returncode < 0 or asked:  # killed by a signal
            return "stopped"
        folder.fail(process.returncode)
        return "failed"


def _look(job: Job, watch: Callable[[Job | None], None], asked: Sequence[int]) -> None:
    if asked:
        raise Stopped
    watch(job)


def _start(command: list[str], log: IO[bytes], lock: IO[str]) -> subprocess.Popen[bytes]:
    """Start a training in a session of its own, so that Ctrl-C reaches it once, from us.

    It shares the lock: when this process is killed, the folder stays locked until it ends.
    """
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=[lock.fileno()],
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask a training to end, if it has not, and wait until it has."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        _wait(process, PATIENCE)
    if process.poll() is None:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return


@contextmanager
def asked_to_stop() -> Iterator[list[int]]:
    """Note signals instead of ending; give the list of those that came."""
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
