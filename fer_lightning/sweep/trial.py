"""One run of a sweep: its point and its folder, and how far it is as files tell."""

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fer_lightning import keys
from fer_lightning.errors import UserError, nearest
from fer_lightning.keys import EPOCH, key
from fer_lightning.study.cell_folder import CellFolder
from fer_lightning.tracking.run_folder import RunFolder

State = Literal["done", "stopped", "running", "failed", "half-done", "waiting"]
EPOCH_SECONDS = key("train", keys.EPOCH_SECONDS)


@dataclass
class Trial:
    """One run of a sweep.

    Args:
        number: in the order in which points were drawn, from 1.
        parameters: option of ``fit`` → value.
        folder: its run folder.
        stopped: ended early because others are better.
    """

    number: int
    parameters: dict[str, Any]
    folder: CellFolder
    stopped: bool = False
    began: float | None = field(default=None, compare=False)  # monotonic seconds, while it runs

    @property
    def name(self) -> str:
        """That of its folder."""
        return self.folder.path.name

    @property
    def state(self) -> State:
        """A run that came to its end is done, even if it was to be stopped."""
        if self.began is not None:
            return "running"
        state = self.folder.state
        return "stopped" if self.stopped and state != "done" else state


@dataclass(frozen=True)
class Measured:
    """What a run has logged so far.

    Args:
        history: the metric, epoch by epoch.
        best: the best of them and of the final numbers; None where there is none.
        epochs: that are complete.
        seconds: of training; None where nothing is known.
        logged: every name that was logged.
    """

    history: tuple[float, ...] = ()
    best: float | None = None
    epochs: int = 0
    seconds: float | None = None
    logged: tuple[str, ...] = ()


class Reader:
    """Reads runs, each again only after its files have changed.

    Args:
        metric: name as logged, such as ``val/acc``; ``test/acc`` is known at the end only.
        goal: whether more is better.
    """

    def __init__(self, metric: str, goal: str) -> None:
        self.metric, self.best_of = metric, max if goal == "maximize" else min
        self.known: dict[str, tuple[tuple[int, ...], Measured]] = {}

    def measure(self, trial: Trial) -> Measured:
        """Return what a trial has logged so far."""
        folder = RunFolder(trial.folder.path)
        times = tuple(
            path.stat().st_mtime_ns if path.is_file() else 0
            for path in (folder.metrics, folder.summary)
        )
        before = self.known.get(trial.name)
        if before is None or before[0] != times:
            before = self.known[trial.name] = (times, self._read(folder))
        return before[1]

    def _read(self, folder: RunFolder) -> Measured:
        rows = _rows(folder)
        summary = _summary(folder)
        history = tuple(row[self.metric] for row in rows if self.metric in row)
        final = [summary[self.metric]] if self.metric in summary else []
        epochs = [int(row[EPOCH]) + 1 for row in rows if len(row) > 1 and EPOCH in row]
        times = [row[EPOCH_SECONDS] for row in rows if EPOCH_SECONDS in row]
        return Measured(
            history,
            self.best_of([*history, *final]) if history or final else None,
            max(epochs, default=0),
            summary.get("seconds", sum(times) if times else None),
            tuple(dict.fromkeys(name for row in [*rows, summary] for name in row if "/" in name)),
        )

    def check(self, trial: Trial) -> None:
        """Refuse to go on where a finished run has never logged the metric.

        Raises:
            UserError: it has not.
        """
        measured = self.measure(trial)
        if measured.best is None:
            raise UserError(
                f"expected the metric '{self.metric}' in {trial.folder.path} but the run has not "
                f"logged it; {nearest(self.metric, measured.logged)}"
            )


def _rows(folder: RunFolder) -> list[dict[str, float]]:
    """Numbers of each epoch; a line that is damaged is left out."""
    try:
        with folder.metrics.open(newline="", encoding="utf-8", errors="replace") as file:
            return [_numbers(row) for row in csv.DictReader(file)]
    except (OSError, csv.Error):
        return []


def _summary(folder: RunFolder) -> dict[str, float]:
    """Final numbers, named as logged: ``val/acc``, ``test/acc``, and ``seconds``."""
    try:
        content = json.loads(folder.summary.read_text())
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    found = _numbers({"seconds": content.get("seconds")})
    for stage in ("val", "test"):
        inner = content.get(stage)
        named = inner.items() if isinstance(inner, Mapping) else ()
        found |= _numbers({f"{stage}/{name}": value for name, value in named})
    return found


def _numbers(row: Mapping[Any, Any]) -> dict[str, float]:
    """Keep what is a finite number."""
    found = {}
    for name, value in row.items():
        try:
            number = float(value)
        except (TypeError, ValueError):
            continue
        if isinstance(name, str) and math.isfinite(number):
            found[name] = number
    return found
