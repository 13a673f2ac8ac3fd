"""What the page of a sweep says."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from fer_lightning.errors import UserError
from fer_lightning.execution.sweep.live import counts
from fer_lightning.execution.sweep.results import (
    LEAST,
    Importances,
    importances,
    label,
    run_facts,
    short_names,
    write_table,
)
from fer_lightning.execution.sweep.trial import STATE, SweepState, Trial, read_state
from fer_lightning.plots.sweep import (
    Axis,
    Bar,
    Curve,
    importance_figure,
    parallel_coordinates,
    sweep_curves,
)
from fer_lightning.report.content import Item, Picture, Report, Section, Table, Text
from fer_lightning.report.parts import number
from fer_lightning.report.sections.summary import substitutions
from fer_lightning.report.write import write_parts
from fer_lightning.runs.provenance import scrub

BEST = 10  # runs in the first table
EVERY = "Every run, in the order in which its point was drawn; `sweep.csv` has all digits."
WHAT = {"grid": "every point of a grid", "random": "random points", "bayes": "Bayesian search"}
MOST_AXES = 7
BELIEVED = 0.3  # R² on unseen runs below which a forest knows next to nothing


def parallel(state: SweepState, measured: list[Trial]) -> tuple[Item, ...]:
    """Draw runs across their parameters."""
    sweep = state.sweep
    names = sweep.varied
    if not names:
        return (Text("No parameter has more than one value.", "note"),)
    short = short_names(names)
    axes = [
        Axis(
            short[name],
            [_value(trial.parameters.get(name)) for trial in measured],
            "log" in sweep.parameters[name].get("distribution", ""),
        )
        for name in names[:MOST_AXES]
    ]
    best = [state.measure(trial).best or 0.0 for trial in measured]
    stopped = [trial.state == "stopped" for trial in measured]
    dashes = " Dashed: stopped early." if any(stopped) else ""
    caption = f"Each line is a run; the darker the better, the best in black.{dashes}"
    figure = parallel_coordinates(
        [*axes, Axis(sweep.metric, best)], sweep.goal == "maximize", "", caption, stopped
    )
    alt = (
        f"Parallel coordinates of {len(measured)} runs over {', '.join(short.values())}; "
        f"{sweep.metric} from {min(best):.4f} to {max(best):.4f}."
    )
    words = f"Every run as a line across its parameters to `{sweep.metric}`."
    items: list[Item] = [Picture("parallel_coordinates", words, alt, figure)]
    if len(names) > MOST_AXES:
        left = ", ".join(f"`{name}`" for name in names[MOST_AXES:])
        items.append(Text(f"Left out of the figure for want of room: {left}.", "note"))
    return tuple(items)


def _value(value: object) -> float | str:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return value if numeric else label(value)  # type: ignore[return-value]


def importance(state: SweepState, measured: list[Trial]) -> tuple[Item, ...]:
    """Draw which parameters decide, and say how far to believe it."""
    sweep = state.sweep
    short = short_names(sweep.varied)
    found = importances(
        [trial.parameters for trial in measured],
        [state.measure(trial).best or 0.0 for trial in measured],
        sweep.varied,
    )
    if found is None:
        words = f"It takes at least {LEAST} runs that differ to tell parameters apart."
        return (Text(words, "note"),)
    bars = [Bar(short[row.name], *row[1:]) for row in found.rows]
    how = (
        "Importance: what a random forest loses when the parameter is shuffled, as a share of "
        "all. Correlation: Spearman's, of ranks."
    )
    figure = importance_figure(bars, sweep.metric, "", how)
    alt = ", ".join(f"{bar.name} {bar.importance:.2f}" for bar in bars)
    rows = tuple(
        (
            row.name,
            number(row.share, 3),
            number(row.spread, 3),
            number(row.correlation, 3),
        )
        for row in found.rows
    )
    columns = ("parameter", "importance", "standard deviation", "correlation")
    caption = f"How much each parameter decides `{sweep.metric}`."
    return (
        _believe(found, any(trial.state == "stopped" for trial in measured)),
        Picture("importance", caption, f"Importance: {alt}.", figure),
        Table("importance", caption, columns, rows),
    )


def _believe(found: Importances, stopped: bool) -> Text:
    words = (
        f"The forest was grown on {found.runs} runs and explains {max(found.unseen, 0):.0%} of "
        "the variance of runs that a tree has not seen"
    )
    if found.unseen < BELIEVED:
        return Text(f"{words}: too little to read anything into these numbers.", "note")
    short = " Runs that were stopped early count with the epochs that they had." if stopped else ""
    return Text(
        f"{words}. Parameters of a search that follows its finds are not independent.{short}"
    )


def curves(state: SweepState, measured: list[Trial]) -> tuple[Item, ...]:
    """Draw the metric of every run over epochs."""
    sweep = state.sweep
    found = [Curve(state.measure(trial).history, trial.state == "stopped") for trial in measured]
    if not any(curve.values for curve in found):
        return (Text(f"`{sweep.metric}` is measured at the end only.", "note"),)
    figure = sweep_curves(found, sweep.metric, sweep.goal == "maximize")
    most = max(len(curve.values) for curve in found)
    alt = f"{sweep.metric} of {len(found)} runs over up to {most} epochs."
    return (Picture("sweep_curves", f"`{sweep.metric}` of every run.", alt, figure),)


def compose_sweep(state: SweepState) -> Report:
    """Write the page of a sweep.

    Raises:
        UserError: no run has measured anything yet.
    """
    measured = [t for t in state.best_first() if state.measure(t).best is not None]
    if not measured:
        raise UserError(
            f"expected at least one epoch to report on in {state.out} but found none; let a run "
            "of the sweep come to its first epoch"
        )
    sections = (
        _summary(state, measured),
        Section("parallel", "Parameters and results", parallel(state, measured)),
        Section("importance", "Which parameters decide", importance(state, measured)),
        Section("curves", "Runs over epochs", curves(state, measured)),
        Section("runs", "All runs", (_table("all_runs", EVERY, state, state.trials),)),
        _reproduce(state, measured[0]),
    )
    subtitle = (
        f"{WHAT.get(state.sweep.method, state.sweep.method)}: "
        f"{counts(state.trials, len(state.trials))}"
    )
    return Report(f"Sweep {state.sweep.name}", subtitle, sections)


def _summary(state: SweepState, measured: list[Trial]) -> Section:
    sweep, best = state.sweep, measured[0]
    value = state.measure(best).best
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
    best_runs = _table("best_runs", caption, state, measured[:BEST])
    facts = run_facts(measured)
    notes, made = substitutions(facts), substitutions(facts, about_data=False)
    return Section("summary", "Summary", (*notes, Text(words), best_runs, Text(luck), *made))


def _table(name: str, caption: str, state: SweepState, trials: Sequence[Trial]) -> Table:
    """Parameters as words, which keep the digits of small numbers and are sorted as numbers."""
    short = short_names(state.sweep.varied)
    columns = ("run", "state", state.sweep.metric, *short.values(), "epochs", "seconds")
    rows = []
    for trial in trials:
        measured = state.measure(trial)
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
    notes = [f"{full}."] if full else []
    if any(trial.state == "stopped" for trial in trials):
        notes.append("Stopped runs were ended early, because others were better.")
    return Table(name, caption, columns, tuple(rows), tuple(notes))


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


def is_sweep(folder: Path) -> bool:
    """Whether a folder is that of a local sweep."""
    return (folder / STATE).is_file()


def write_sweep_report(folder: Path, out: Path | None = None) -> list[Path]:
    """Write ``report.html``, ``report.md``, ``tables/``, ``figures/`` and ``sweep.csv``.

    Returns:
        Everything that was written, the page first.

    Raises:
        UserError: nothing was measured yet, or the folder cannot be written.
    """
    state = read_state(folder)
    written = write_parts(compose_sweep(state), out or folder)
    return [*written, write_table(state)]
