"""A sweep before anything is trained: how it searches, and the points that come first."""

import shlex
from dataclasses import replace
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.table import Table

from fer_lightning.commands.sweep_options import fit_options
from fer_lightning.sweep.labels import label, short_names
from fer_lightning.sweep.live import counts
from fer_lightning.sweep.search import draw
from fer_lightning.sweep.state import SweepState
from fer_lightning.sweep.trial import Reader

MOST = 20  # points that are printed


def dry_run(state: SweepState, reader: Reader, count: int, parallel: int, console: Console) -> None:
    """Print runs that there are and points that come next; later points of bayes may differ."""
    sweep = state.sweep
    state = replace(state, trials=list(state.trials))
    begun = counts(state.trials, count)
    while len(state.trials) < min(count, MOST):
        point = draw(sweep, state.trials, reader, state.seed)
        if point is None:
            break
        state.trials.append(state.trial(point))
    short = short_names(sweep.varied)
    say: dict[str, Any] = {"highlight": False, "soft_wrap": True, "markup": False}
    early = ", bad runs stopped early by Hyperband" if sweep.stops_early else ""
    console.print(
        f"{sweep.name}: {sweep.method}, {count} runs, {sweep.goal} {sweep.metric}{early}", **say
    )
    table = Table()
    for name in ("run", "state", *short.values()):
        table.add_column(name, justify="left" if name in ("run", "state") else "right")
    for trial in state.trials[:MOST]:
        table.add_row(trial.name, trial.state, *(label(trial.parameters[name]) for name in short))
    console.print(table)
    if sweep.method == "bayes":
        console.print("Later points will depend on the results of earlier ones.", **say)
    if count > MOST:
        console.print(f"and {count - MOST} more", **say)
    if state.trials:
        words = shlex.join(fit_options(sweep, state.trials[-1].parameters))
        console.print(f"The last of these by hand: fer-lightning fit {words}", **say)
    console.print(f"{begun}{_left(state, reader, count, parallel)}", **say)


def _left(state: SweepState, reader: Reader, count: int, parallel: int) -> str:
    """Estimate the time of the rest from runs that are done, if there are any."""
    over = [trial for trial in state.trials if trial.state in ("done", "stopped")]
    times = [t for trial in over if (t := reader.measure(trial).seconds) is not None]
    if not times:
        return "; how long a run takes is known when the first one is done"
    seconds = sum(times) / len(times) * (count - len(over)) / parallel
    return f"; the rest takes about {timedelta(seconds=round(seconds))} at the pace so far"
