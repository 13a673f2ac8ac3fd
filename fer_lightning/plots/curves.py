"""Curves: one run over epochs, several models over epochs, accuracy by amount of data."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import NDArray

from fer_lightning.plots import style
from fer_lightning.plots.focus import number

PARTS: dict[str, Any] = {"train": (style.VERMILLION, "--", "^"), "val": (style.BLUE, "-", "o")}
LEVEL_DASHES: tuple[Any, ...] = ((0, (1, 1.5)), (0, (4, 2)), (0, (4, 1.5, 1, 1.5)), (0, (8, 2)))
Line = tuple[NDArray[np.float64], NDArray[np.float64]]  # epochs, from 0, and values
WIDEST = 64.0  # on a logarithmic axis nothing beyond this factor of 1 is shown
MOST_POINTS = 100.0  # by which accuracies can differ; intervals that go on end in an arrow
APART = 1.2  # percent of the training images by which models are drawn beside each other
BAR: dict[str, Any] = {"capsize": 2.5, "linewidth": 1.1, "markersize": 5}


@style.styled
def training_curves(
    rows: Sequence[Mapping[str, str | float | None]],
    title: str = "",
    majority: float | None = None,
) -> Figure:
    """Draw training and validation loss, and accuracy, over epochs.

    Args:
        rows: of metrics.csv, one per epoch: `epoch` from 0, `train/loss`, `val/loss`, `train/acc`,
            `val/acc`, numbers or text; a missing number is a gap.
        title: model, data set and its fingerprint.
        majority: share of the most frequent class, drawn as the accuracy to leave behind.

    >>> rows = [{"epoch": 0, "val/acc": 0.2}, {"epoch": 1, "val/acc": "0.4"}]
    >>> training_curves(rows).get_supxlabel()
    'Best validation accuracy 0.400 in epoch 2 (vertical line).'
    """

    def column(name: str) -> NDArray[np.float64]:
        return np.array([number(row.get(name)) for row in rows])

    epochs, accuracy = style.counted(column("epoch")), column("val/acc")
    best = int(np.nanargmax(accuracy)) if np.isfinite(accuracy).any() else None
    words = "No validation accuracy."
    if best is not None:
        score = f"{accuracy[best]:.3f} in epoch {epochs[best]:.0f}"
        words = f"Best validation accuracy {score} (vertical line)."
    figure = style.new_figure(style.MIDDLE, 2.1, title, words, legend_rows=1)
    panels = figure.subplots(1, 2, sharex=True)
    for axes, name, label in zip(panels, ("loss", "acc"), ("loss", "accuracy"), strict=True):
        for part, (colour, dashes, marker) in PARTS.items():
            values = column(f"{part}/{name}")
            if np.isfinite(values).any():
                axes.plot(epochs, values, c=colour, ls=dashes, marker=marker, markersize=2.5)
        if not axes.lines:
            style.note(axes, f"no {label} in these rows")
        elif best is not None:
            axes.axvline(epochs[best], color=style.GREY, linewidth=0.6, zorder=1)
        axes.set_ylabel(label)
        axes.set_xlabel("epoch")
        style.epoch_axis(axes)
        style.tidy(axes)
    entries: dict[str, Artist] = {
        name: Line2D([], [], color=colour, linestyle=dashes, marker=marker, markersize=3)
        for name, (colour, dashes, marker) in zip(
            ("training", "validation"), PARTS.values(), strict=True
        )
    }
    if majority is not None:
        panels[1].axhline(majority, color=style.GREY, linestyle=":", linewidth=1)
        entries["largest class alone"] = Line2D([], [], color=style.GREY, linestyle=":")
    style.legend(figure, entries, ncols=3)
    return figure


class Panel(NamedTuple):
    """What one panel shows."""

    title: str
    lines: Mapping[str, Sequence[Line]]  # model → one line for each of its runs
    levels: Mapping[str, float]  # name → a height that needs no training, drawn as a grey line
    log: bool = False  # draw ratios, with 1 in the middle


@style.styled
def model_curves(
    panels: Sequence[Panel],
    models: Sequence[str],
    ylabel: str = "",
    title: str = "",
    caption: str = "",
) -> Figure:
    """Draw panels side by side, three in a row, with a common scale where they share a unit.

    Args:
        panels: at least one.
        models: in the study's order, which decides their looks.
        ylabel: of all panels; they then have the same scale.
        title: data set and its fingerprint.
        caption: what a line is.

    >>> line = (np.array([0.0, 1.0]), np.array([0.2, 0.4]))
    >>> figure = model_curves([Panel("30 %", {"cnn": [line]}, {"majority": 0.25})], ["cnn"])
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['cnn', 'majority']
    """
    columns = min(len(panels), 4 if len(panels) == 4 else 3)
    rows = math.ceil(len(panels) / columns)
    names = list(dict.fromkeys(name for panel in panels for name in panel.levels))
    entries: dict[str, Artist] = style.model_entries(models)
    entries |= {
        name: Line2D([], [], color=style.GREY, linestyle=LEVEL_DASHES[place % 4], linewidth=1)
        for place, name in enumerate(names)
    }
    width = style.MIDDLE if columns == 1 else style.DOUBLE
    figure = style.new_figure(width, 2.2 * rows, title, caption, math.ceil(len(entries) / 5))
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=bool(ylabel))
    for axes, panel in zip(grid.flat, panels, strict=False):
        _panel(axes, panel, models, names)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel(ylabel)
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    style.legend(figure, entries, ncols=min(5, len(entries)))
    return figure


def _panel(axes: Axes, panel: Panel, models: Sequence[str], names: Sequence[str]) -> None:
    for model, lines in panel.lines.items():
        look = style.model_look(models.index(model))
        for epochs, values in lines:
            every = 3 if len(epochs) > 15 else 1
            (line,) = axes.plot(style.counted(epochs), values, c=look.colour, ls=look.dashes)
            line.set(marker=look.marker, markersize=2.2, markevery=every, lw=1.1, alpha=0.85)
    if not axes.lines:
        style.note(axes, "not measured")
    for name, height in panel.levels.items():
        if np.isfinite(height):
            dashes = LEVEL_DASHES[names.index(name) % 4]
            axes.axhline(height, color=style.GREY, linewidth=0.9, linestyle=dashes, zorder=1)
    axes.set_title(panel.title)
    style.epoch_axis(axes)
    if panel.log:
        _ratio_axis(axes, panel)
    style.tidy(axes)


def _ratio_axis(axes: Axes, panel: Panel) -> None:
    values = [1.0, *panel.levels.values()]
    values += [v for lines in panel.lines.values() for line in lines for v in line[1].tolist()]
    shown = np.clip([v for v in values if np.isfinite(v) and v > 0], 1 / WIDEST, WIDEST)
    axes.set_yscale("log", base=2)
    axes.set_ylim(min(shown.min(), 0.8) / 1.15, max(shown.max(), 1.25) * 1.15)
    axes.yaxis.set_major_locator(LogLocator(base=2, numticks=8))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


class Level(NamedTuple):
    """A number at one fraction: its interval, and one value per seed."""

    fraction: float
    mean: float
    low: float
    high: float
    seeds: tuple[float, ...] = ()


@style.styled
def accuracy_by_fraction(
    accuracies: Mapping[str, Sequence[Level]],
    lead: Sequence[Level] = (),
    paper: Mapping[float, float] | None = None,
    pair: tuple[str, str] = ("first", "second"),
    title: str = "",
    caption: str = "",
) -> Figure:
    """Draw each model's test accuracy, and beside it by how much the first model leads the second.

    Args:
        accuracies: model → levels from 0 to 1, models in the study's order.
        lead: points, that is percent; no second panel without any.
        paper: fraction → the lead that the paper prints, in points.
        pair: the two models of the lead.
        title: data set and its fingerprint.
        caption: what the intervals cover.

    >>> one = Level(0.3, 0.5, 0.48, 0.52, (0.49, 0.51))
    >>> [len(axes.collections) for axes in accuracy_by_fraction({"cnn": [one]}).axes]
    [2]
    """
    width = style.DOUBLE if lead else style.MIDDLE
    entries = style.model_entries(list(accuracies))
    entries["one seed"] = Line2D([], [], color=style.GREY, marker=".", linestyle="", markersize=4)
    if paper and lead:
        entries["paper's lead (FER-2013)"] = Line2D(
            [],
            [],
            color=style.BLACK,
            marker="D",
            markerfacecolor="none",
            linestyle=":",
            markersize=4,
        )
    figure = style.new_figure(width, 2.5, title, caption, math.ceil(len(entries) / 5))
    panels = figure.subplots(1, 2 if lead else 1, squeeze=False)[0]
    for place, levels in enumerate(accuracies.values()):
        look = style.model_look(place)
        shift = APART * (place - (len(accuracies) - 1) / 2)
        _levels(panels[0], levels, shift, look.colour, look.marker, look.dashes)
    panels[0].set_ylabel("test accuracy")
    if not any(accuracies.values()):
        style.note(panels[0], "no runs")
    if lead:
        _lead(panels[1], lead, paper or {}, pair)
    fractions = sorted({level.fraction for levels in accuracies.values() for level in levels})
    for axes in panels:
        axes.set_xlabel("training images, percent")
        axes.set_xticks([100 * fraction for fraction in fractions])
        axes.set_xlim(100 * min(fractions, default=0) - 8, 100 * max(fractions, default=1) + 8)
        style.tidy(axes)
    style.legend(figure, entries, ncols=min(5, len(entries)))
    return figure


def _lead(
    axes: Axes, lead: Sequence[Level], paper: Mapping[float, float], pair: tuple[str, str]
) -> None:
    axes.axhline(0, color=style.GREY, linewidth=0.6, zorder=1)
    _levels(axes, [_within(level) for level in lead], 0, style.BLACK, "o", "-")
    for end, arrow, beyond in (
        (MOST_POINTS, "^", [level for level in lead if level.high > MOST_POINTS]),
        (-MOST_POINTS, "v", [level for level in lead if level.low < -MOST_POINTS]),
    ):
        for level in beyond:
            axes.plot(100 * level.fraction, end, arrow, color=style.BLACK, markersize=6)
    first, last = lead[0].fraction, lead[-1].fraction  # further ones have no room
    shown = {fraction: points for fraction, points in paper.items() if first <= fraction <= last}
    if shown:
        x = [100 * fraction + APART for fraction in shown]
        axes.plot(
            x, list(shown.values()), "D:", color=style.BLACK, mfc="none", markersize=4, lw=0.9
        )
    axes.set_ylabel(f"{pair[0]} minus {pair[1]}, points")


def _within(level: Level) -> Level:
    """Cut a lead's interval where differences end.

    >>> _within(Level(0.3, 5.0, -1400.0, 30.0))[2:4]
    (-100.0, 30.0)
    """
    return level._replace(low=max(level.low, -MOST_POINTS), high=min(level.high, MOST_POINTS))


def goes_on(lead: Sequence[Level]) -> bool:
    """Whether an interval of a lead goes on beyond where differences end."""
    return any(_within(level) != level for level in lead)


def _levels(
    axes: Axes, levels: Sequence[Level], shift: float, colour: str, marker: str, dashes: Any
) -> None:
    """Draw intervals, a line through the means, and a dot for each seed."""
    if not levels:
        return
    x = [100 * level.fraction + shift for level in levels]
    means = [level.mean for level in levels]
    below = [max(level.mean - level.low, 0) for level in levels]
    above = [max(level.high - level.mean, 0) for level in levels]
    axes.errorbar(x, means, [below, above], fmt=marker, ls=dashes, color=colour, **BAR)
    dots = [(at, value) for at, level in zip(x, levels, strict=True) for value in level.seeds]
    if dots:
        right, values = zip(*dots, strict=True)
        axes.scatter([at + APART for at in right], values, 8, colour, alpha=0.8, linewidths=0)
