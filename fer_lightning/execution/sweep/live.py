"""What a person sees while a sweep runs: the best runs so far, or lines where no table can be."""

import time
from collections.abc import Sequence
from datetime import timedelta

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from fer_lightning.execution.sweep.results import label, short_names
from fer_lightning.execution.sweep.trial import SweepState, Trial
from fer_lightning.execution.training import BETWEEN_LOOKS, STYLES, LiveView
from fer_lightning.screen import say

WIDEST = 12  # letters of a value that are never broken
MOST = 12  # runs in the table; sweep.csv has all
STATES = ("done", "stopped", "running", "failed", "half-done", "waiting")
LOOKS = STYLES | {"stopped": "green dim"}


class LiveSweep(LiveView):
    """Shows a sweep; `watch` is what the engine calls."""

    def __init__(self, state: SweepState, count: int, console: Console) -> None:
        super().__init__(console)
        self.state, self.count = state, count

    def watch(self, trial: Trial | None) -> None:
        """Look at most once a second, and whenever a run begins or ends."""
        if not self.console.is_terminal:
            if trial is not None:
                self._line(trial)
        elif trial is not None or time.monotonic() - self.looked > BETWEEN_LOOKS:
            self.looked = time.monotonic()
            self.live.update(self.view(), refresh=True)

    def view(self) -> Group:
        """Lay out the best runs, and all that are at work."""
        return sweep_view(self.state, self.count)

    def _line(self, trial: Trial) -> None:
        words = line(trial, self.state)
        if trial.began is None:
            words += f"; {counts(self.state.trials, self.count)}{_best(self.state)}"
        say(self.console, words)


def sweep_view(state: SweepState, count: int) -> Group:
    """Lay out the best runs and those at work for the terminal."""
    sweep = state.sweep
    short = short_names(sweep.varied)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))  # narrow: there may be many parameters
    right = ("epochs", sweep.metric, "time")
    for name in ("run", "state", *right):
        table.add_column(name, justify="right" if name in right else "left", no_wrap=True)
    shown = chosen(state)
    for name, word in short.items():
        longest = max((len(label(trial.parameters.get(name))) for trial in shown), default=0)
        widest = min(longest, WIDEST)
        head = word.replace("_", " ")  # may be broken
        table.add_column(head, justify="right", overflow="fold", min_width=widest)
    for trial in shown:
        measured = state.measure(trial)
        since = None if trial.began is None else time.monotonic() - trial.began
        seconds = measured.seconds if since is None else since
        table.add_row(
            f"{trial.number:03d}",
            Text(trial.state, style=LOOKS.get(trial.state, "dim")),
            str(measured.epochs or ""),
            "" if measured.best is None else f"{measured.best:.4f}",
            "" if seconds is None else str(timedelta(seconds=round(seconds))),
            *(label(trial.parameters.get(name, "")) for name in short),
        )
    hidden = len(state.trials) - len(shown)
    more = f"; {hidden} more in sweep.csv" if hidden else ""
    words = f"{counts(state.trials, count)}{_best(state)}{more}"
    return Group(table, Text(words))


def chosen(state: SweepState, most: int = MOST) -> list[Trial]:
    """Return the runs at work and the best of the others, the best first."""
    ordered = state.best_first()
    running = [trial for trial in ordered if trial.began is not None]
    others = [trial for trial in ordered if trial.began is None]
    kept = {trial.name for trial in running + others[: max(most - len(running), 1)]}
    return [trial for trial in ordered if trial.name in kept]


def counts(trials: Sequence[Trial], count: int) -> str:
    """Say how many runs are in which state."""
    found = [trial.state for trial in trials]
    words = ", ".join(f"{found.count(state)} {state}" for state in STATES if state in found)
    return f"{words or 'none'} of {count} run{'' if count == 1 else 's'}"


def line(trial: Trial, state: SweepState) -> str:
    """Tell a run in one line."""
    measured = state.measure(trial)
    several = "s" if measured.epochs > 1 else ""
    parts = [
        *([f"{measured.epochs} epoch{several}"] if measured.epochs else []),
        *([f"{state.sweep.metric} {measured.best:.4f}"] if measured.best is not None else []),
        *([str(timedelta(seconds=round(measured.seconds)))] if measured.seconds else []),
    ]
    if trial.began is not None or not parts:
        parts = [f"{name}={label(value)}" for name, value in trial.parameters.items()]
    return f"{trial.name} {trial.state}: {', '.join(parts)}"


def _best(state: SweepState) -> str:
    best = state.best_first()[0] if state.trials else None
    value = None if best is None else state.measure(best).best
    if best is None or value is None:
        return ""
    return f"; best {state.sweep.metric} {value:.4f} by {best.name}"
