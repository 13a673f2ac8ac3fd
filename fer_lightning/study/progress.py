"""How far the cells of a study are, told from the files of their runs."""

import csv
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass

from fer_lightning.keys import ACC, EPOCH, key
from fer_lightning.study.cell_folder import State
from fer_lightning.study.execute import Job
from fer_lightning.tracking.run_folder import RunFolder


@dataclass(frozen=True)
class Progress:
    """One line of the table.

    Args:
        name: of the cell.
        state: what is to be done.
        epochs: that are complete.
        most_epochs: after which the run ends at the latest.
        accuracy: on the test images of a complete run, else the best on validation images so far.
        seconds: of training so far.
    """

    name: str
    state: State
    epochs: int
    most_epochs: int
    accuracy: float | None
    seconds: float | None


def progress_of(job: Job) -> Progress:
    """Read how far a cell is."""
    folder = RunFolder(job.folder.path)
    most = int(job.cell.config.get("trainer", {}).get("max_epochs") or 0)
    if folder.complete:
        summary = json.loads(folder.summary.read_text())
        state: State = "done" if job.done else "running" if job.began else job.folder.state
        accuracy, epochs = summary["test"]["acc"], summary["epochs"]
        return Progress(job.cell.name, state, epochs, most, accuracy, summary["seconds"])
    epochs, best = _epochs(folder)
    state = "running" if job.began is not None else job.folder.state
    seconds = None if job.began is None else time.monotonic() - job.began
    return Progress(job.cell.name, state, epochs, most, best, seconds)


def _epochs(folder: RunFolder) -> tuple[int, float | None]:
    """Count complete epochs and find the best validation accuracy."""
    if not folder.metrics.is_file():
        return 0, None
    with folder.metrics.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get(key("val", ACC))]
    best = max((float(row[key("val", ACC)]) for row in rows), default=None)
    return max((int(float(row[EPOCH])) + 1 for row in rows), default=0), best


def seconds_left(jobs: Iterable[Job], rows: dict[str, Progress]) -> float | None:
    """Estimate the time for everything that is not done, at most: runs may stop early.

    The time per epoch and share of the data is taken from the runs of the same model, of any model
    where there is none yet; None before the first complete epoch.

    Args:
        jobs: of the study.
        rows: `progress_of` each, by name.
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
