"""The figures of a sweep's page, with their numbers."""

import math

from fer_lightning.plots.importance import Bar, importance_figure
from fer_lightning.plots.parallel_coordinates import Axis, parallel_coordinates
from fer_lightning.plots.sweep_curves import Curve, sweep_curves
from fer_lightning.study.report.content import Item, Picture, Table, Text
from fer_lightning.study.report.parts import number
from fer_lightning.sweep.importance import LEAST, Importances, importances
from fer_lightning.sweep.labels import label, short_names
from fer_lightning.sweep.state import SweepState
from fer_lightning.sweep.trial import Reader, Trial

MOST_AXES = 7
BELIEVED = 0.3  # R² on unseen runs below which a forest knows next to nothing


def parallel(state: SweepState, reader: Reader, measured: list[Trial]) -> tuple[Item, ...]:
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
    best = [reader.measure(trial).best or 0.0 for trial in measured]
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


def importance(state: SweepState, reader: Reader, measured: list[Trial]) -> tuple[Item, ...]:
    """Draw which parameters decide, and say how far to believe it."""
    sweep = state.sweep
    short = short_names(sweep.varied)
    found = importances(
        [trial.parameters for trial in measured],
        [reader.measure(trial).best or 0.0 for trial in measured],
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
            None if math.isnan(row.correlation) else number(row.correlation, 3),
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


def curves(state: SweepState, reader: Reader, measured: list[Trial]) -> tuple[Item, ...]:
    """Draw the metric of every run over epochs."""
    sweep = state.sweep
    found = [Curve(reader.measure(trial).history, trial.state == "stopped") for trial in measured]
    if not any(curve.values for curve in found):
        return (Text(f"`{sweep.metric}` is measured at the end only.", "note"),)
    figure = sweep_curves(found, sweep.metric, sweep.goal == "maximize")
    most = max(len(curve.values) for curve in found)
    alt = f"{sweep.metric} of {len(found)} runs over up to {most} epochs."
    return (Picture("sweep_curves", f"`{sweep.metric}` of every run.", alt, figure),)
