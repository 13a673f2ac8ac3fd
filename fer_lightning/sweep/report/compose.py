"""What the page of a sweep says."""

import shlex

import pandas as pd

from fer_lightning.errors import UserError
from fer_lightning.study.report.content import Cell, Report, Section, Table, Text
from fer_lightning.study.report.parts import number
from fer_lightning.study.scrub import scrub
from fer_lightning.sweep.labels import label
from fer_lightning.sweep.live import counts
from fer_lightning.sweep.report.pictures import curves, importance, parallel
from fer_lightning.sweep.results import results_table
from fer_lightning.sweep.state import SweepState, best_first
from fer_lightning.sweep.trial import Reader, Trial

BEST = 10  # runs in the first table
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
        Section("runs", "All runs", (_all(state, reader),)),
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
    return Section(
        "summary", "Summary", (Text(words, "verdict"), _best(state, reader, measured), Text(luck))
    )


def _best(state: SweepState, reader: Reader, measured: list[Trial]) -> Table:
    table = results_table(state, reader).set_index("run", drop=False)
    table = table.loc[[trial.name for trial in measured[:BEST]]]
    metric = state.sweep.metric
    columns = ["run", "state", metric, *state.sweep.varied, "epochs", "seconds"]
    return _table(table[columns], "best_runs", f"The best runs by `{metric}`.")


def _all(state: SweepState, reader: Reader) -> Table:
    return _table(
        results_table(state, reader),
        "all_runs",
        "Every run, in the order in which its point was drawn.",
        ("`stopped` runs were ended early because others were better.",),
    )


def _table(table: pd.DataFrame, name: str, caption: str, notes: tuple[str, ...] = ()) -> Table:
    rows = tuple(tuple(map(_cell, row)) for row in table.itertuples(index=False, name=None))
    return Table(name, caption, tuple(map(str, table.columns)), rows, notes)


def _cell(value: object) -> Cell:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | str):
        return str(scrub(value)) if isinstance(value, str) else value
    return number(value, 6)


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
