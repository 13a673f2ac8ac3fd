"""What the page of a sweep says."""

import shlex
from collections.abc import Sequence

from fer_lightning.errors import UserError
from fer_lightning.study.report.content import Report, Section, Table, Text
from fer_lightning.study.report.parts import number
from fer_lightning.study.report.summary import substitutions
from fer_lightning.study.scrub import scrub
from fer_lightning.sweep.labels import label, short_names
from fer_lightning.sweep.live import counts
from fer_lightning.sweep.report.pictures import curves, importance, parallel
from fer_lightning.sweep.results import run_facts
from fer_lightning.sweep.state import SweepState, best_first
from fer_lightning.sweep.trial import Reader, Trial

BEST = 10  # runs in the first table
EVERY = "Every run, in the order in which its point was drawn; `sweep.csv` has all digits."
WHAT = {"grid": "every point of a grid", "random": "random points", "bayes": "Bayesian search"}


def compose_sweep(state: SweepState, reader: Reader) -> Report:
    """Write the page of a sweep.

    Raises:
        UserError: no run has measured anything yet.
    """
    pairs = [(trial, reader.measure(trial).best) for trial in state.trials]
    measured = best_first([pair for pair in pairs if pair[1] is not None], state.sweep.goal)
    if not measured:
        raise UserError(
            f"expected at least one epoch to report on in {state.out} but found none; let a run "
            "of the sweep come to its first epoch"
        )
    sections = (
        _summary(state, reader, measured),
        Section("parallel", "Parameters and results", parallel(state, reader, measured)),
        Section("importance", "Which parameters decide", importance(state, reader, measured)),
        Section("curves", "Runs over epochs", curves(state, reader, measured)),
        Section("runs", "All runs", (_table("all_runs", EVERY, state, reader, state.trials),)),
        _reproduce(state, measured[0]),
    )
    subtitle = (
        f"{WHAT.get(state.sweep.method, state.sweep.method)}: "
        f"{counts(state.trials, len(state.trials))}"
    )
    return Report(f"Sweep {state.sweep.name}", subtitle, sections)


def _summary(state: SweepState, reader: Reader, measured: list[Trial]) -> Section:
    sweep, best = state.sweep, measured[0]
    value = reader.measure(best).best
    point = ", ".join(f"`{name}` {label(best.parameters[name])}" for name in sweep.varied)
    words = (
        f"**{best.name}** has the {'highest' if sweep.goal == 'maximize' else 'lowest'} "
        f"`{sweep.metric}` of {len(measured)} runs, **{value:.4f}**, with {point or 'no choice'}."
    )
    luck = (
        "The best of many runs is also the luckiest: its number is too good by what chance gives "
        "the best of so many. Train its configuration again with other seeds before believing it."
    )
    caption = f"The best runs by `{sweep.metric}`."
    best_runs = _table("best_runs", caption, state, reader, measured[:BEST])
    notes = substitutions(run_facts(measured))
    return Section("summary", "Summary", (*notes, Text(words), best_runs, Text(luck)))


def _table(
    name: str, caption: str, state: SweepState, reader: Reader, trials: Sequence[Trial]
) -> Table:
    """Parameters as words, which keep the digits of small numbers and are sorted as numbers."""
    short = short_names(state.sweep.varied)
    columns = ("run", "state", state.sweep.metric, *short.values(), "epochs", "seconds")
    rows = []
    for trial in trials:
        measured = reader.measure(trial)
        rows.append(
            (
                trial.name,
                trial.state,
                number(measured.best, 4),
                *(str(scrub(label(trial.parameters.get(option, "")))) for option in short),
                measured.epochs,
                number(measured.seconds, 1),
            )
        )
    full = ", ".join(f"{word} is `{option}`" for option, word in short.items() if word != option)
    notes = [
        *([f"{full}."] if full else []),
        *(["Stopped runs were ended early, because others were better."] * _any_stopped(trials)),
    ]
    return Table(name, caption, columns, tuple(rows), tuple(notes))


def _any_stopped(trials: Sequence[Trial]) -> bool:
    return any(trial.state == "stopped" for trial in trials)


def _reproduce(state: SweepState, best: Trial) -> Section:
    sweep = state.sweep
    data = [] if state.data is None else ["--data", str(scrub(state.data))]
    again = shlex.join(["fer-lightning", "sweep", str(scrub(str(sweep.path))), *data])
    count = "" if sweep.method == "grid" else f" --count {len(state.trials)}"
    return Section(
        "reproduce",
        "How to reproduce",
        (
            Text(f"`{again}{count}` makes all runs; `fer-lightning report FOLDER` this page."),
            Text(
                f"`fer-lightning fit --config {best.name}/config.yaml`, in the sweep's folder, "
                "trains the best one again."
            ),
        ),
    )
