"""How far the cells of a study are, read from the files of their runs."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from fer_lightning.execution.study.cells import State
from fer_lightning.execution.study.execute import Job
from fer_lightning.execution.training import BETWEEN_LOOKS, STYLES, LiveView
from fer_lightning.keys import ACC, key
from fer_lightning.runs.files import Metrics, if_readable, read_json, read_metrics
from fer_lightning.runs.folder import RunFolder
from fer_lightning.screen import say

VAL_ACC = key("val", ACC)
MINUTE, SHORT = 59.5, 9.95  # seconds that are rounded to a minute, and to ten seconds


@dataclass(frozen=True)
class Progress:
    """One line of the table."""

    name: str  # of the cell
    state: State  # what is to be done
    epochs: int  # that are complete
    most_epochs: int  # after which the run ends at the latest
    # on the test images of a complete run, else the best on validation images so far
    accuracy: float | None
    # of work so far: imports, test and focus included, where the cell was worked on in this call
    seconds: float | None


def progress_of(job: Job) -> Progress:
    """Read how far a cell is."""
    folder = RunFolder(job.folder.path)
    most = int(job.cell.config.get("trainer", {}).get("max_epochs") or 0)
    if folder.complete:
        summary = read_json(folder.summary)
        state: State = "done" if job.done else "running" if job.began else job.folder.state
        accuracy, epochs = summary["test"]["acc"], summary["epochs"]
        seconds = max(summary["seconds"], job.took)
        return Progress(job.cell.name, state, epochs, most, accuracy, seconds)
    epochs, best = _epochs(folder)
    state = "running" if job.began is not None else job.folder.state
    seconds = None if job.began is None else time.monotonic() - job.began
    return Progress(job.cell.name, state, epochs, most, best, seconds)


def _epochs(folder: RunFolder) -> tuple[int, float | None]:
    """Count complete epochs and find the best validation accuracy."""
    read = if_readable(read_metrics, folder.metrics)[0] or Metrics({})
    found = {e: row[VAL_ACC] for e, row in read.rows.items() if VAL_ACC in row}
    return max(found, default=-1) + 1, max(found.values(), default=None)


def seconds_left(jobs: Iterable[Job], rows: dict[str, Progress]) -> float | None:
    """Estimate the time for everything that is not done, at most: runs may stop early.

    The time per epoch and share of the data is taken from the runs of the same model, of any model
    where there is none yet; None before the first complete epoch.
    """
    speeds: dict[str, list[float]] = {}
    jobs = list(jobs)
    for job in jobs:
        row = rows[job.cell.name]
        if row.seconds and row.epochs:
            per_epoch = row.seconds / row.epochs / job.cell.fraction
            speeds.setdefault(job.cell.model, []).append(per_epoch)
    every = [speed for found in speeds.values() for speed in found]
    if not every:
        return None
    left = 0.0
    for job in jobs:
        row = rows[job.cell.name]
        if row.state in ("waiting", "half-done", "running"):
            known = speeds.get(job.cell.model, every)
            epochs = max(row.most_epochs - row.epochs, 0)
            left += sum(known) / len(known) * job.cell.fraction * epochs
    return left


class LiveTable(LiveView):
    """Shows a study's cells; `watch` is what `execute` calls."""

    def __init__(self, jobs: Sequence[Job], console: Console) -> None:
        super().__init__(console)
        self.jobs = jobs
        self.rows = {job.cell.name: progress_of(job) for job in jobs}
        self.announced: set[str] = set()

    def view(self) -> Group:
        """Lay out all cells as they were seen last."""
        return study_view(self.rows.values(), None)

    def watch(self, job: Job | None) -> None:
        """Look at the job at work, at most once a second, and at its end."""
        ended = job is None or job.began is None
        if job is None or not (ended or time.monotonic() - self.looked > BETWEEN_LOOKS):
            return
        self.looked = time.monotonic()
        self.rows[job.cell.name] = progress_of(job)
        left = seconds_left(self.jobs, self.rows)
        if self.console.is_terminal:
            self.live.update(study_view(self.rows.values(), left), refresh=True)
        else:
            self._say(job, ended, left)

    def _say(self, job: Job, ended: bool, left: float | None) -> None:
        row = self.rows[job.cell.name]
        if ended:
            done = sum(row.state == "done" for row in self.rows.values())
            say(self.console, f"{line(row)}; {done} of {len(self.rows)} done{_left(left)}")
        elif row.name not in self.announced:
            self.announced.add(row.name)
            say(self.console, line(row))


def study_view(rows: Iterable[Progress], left: float | None) -> Group:
    """Lay out the cells for the terminal."""
    rows = list(rows)
    table = Table()
    for name in ("cell", "state", "epochs", "accuracy", "time"):
        table.add_column(name, justify="left" if name in ("cell", "state") else "right")
    for row in rows:
        accuracy = "" if row.accuracy is None else f"{row.accuracy:.3f}"
        seconds = "" if row.seconds is None else clock(row.seconds)
        kind = "test" if row.state == "done" else "val"
        epochs = f"{row.epochs}/{row.most_epochs}" if row.epochs else ""
        table.add_row(
            row.name,
            Text(row.state, style=STYLES.get(row.state, "dim")),
            epochs,
            f"{kind} {accuracy}" if accuracy else "",
            seconds,
        )
    counts = ", ".join(
        f"{count} {state}"
        for state in ("done", "running", "failed", "half-done", "waiting")
        if (count := sum(row.state == state for row in rows))
    )
    return Group(table, Text(f"{counts}{_left(left)}"))


def line(row: Progress) -> str:
    """Tell a cell in one line.

    >>> line(Progress("vit-30pct-seed42", "done", 30, 30, 0.36, 61))
    'vit-30pct-seed42 done: 30 epochs, test accuracy 0.360, 0:01:01'
    """
    kind = "test" if row.state == "done" else "best validation"
    parts = [
        *([f"{row.epochs} epoch{'s' if row.epochs > 1 else ''}"] if row.epochs else []),
        *([] if row.accuracy is None else [f"{kind} accuracy {row.accuracy:.3f}"]),
        *([clock(row.seconds)] if row.seconds else []),
    ]
    return f"{row.name} {row.state}" + (f": {', '.join(parts)}" if parts else "")


def clock(seconds: float) -> str:
    """Write a time; one of less than a minute in seconds.

    >>> clock(0.42), clock(12.3), clock(61)
    ('0.4 s', '12 s', '0:01:01')
    """
    if seconds < MINUTE:
        return f"{seconds:.1f} s" if seconds < SHORT else f"{seconds:.0f} s"
    return str(timedelta(seconds=round(seconds)))


def _left(seconds: float | None) -> str:
    return f", at most {clock(seconds)} left" if seconds else ""
