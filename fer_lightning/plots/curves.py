"""Loss and accuracy over epochs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray

from fer_lightning.plots.focus import number
from fer_lightning.plots.style import (
    BLACK,
    BLUE,
    DOUBLE,
    GREY,
    MIDDLE,
    VERMILLION,
    legend,
    model_entries,
    model_look,
    new_figure,
    note,
    styled,
    tidy,
)

PARTS: dict[str, Any] = {"train": (VERMILLION, "--", "^"), "val": (BLUE, "-", "o")}


@styled
def training_curves(
    rows: Sequence[Mapping[str, str | float | None]],
    title: str = "",
    majority: float | None = None,
) -> Figure:
    """Draw training and validation loss, and accuracy, over epochs.

    Args:
        rows: of metrics.csv, one an epoch: `epoch`, `train/loss`, `val/loss`, `train/acc`,
            `val/acc`, numbers or text; a missing number is a gap.
        title: model, data set and its fingerprint.
        majority: share of the most frequent class, drawn as the accuracy to leave behind.

    >>> rows = [{"epoch": 0, "val/acc": 0.2}, {"epoch": 1, "val/acc": "0.4"}]
    >>> training_curves(rows).get_supxlabel()
    'Best validation accuracy 0.400 in epoch 1 (vertical line).'
    """
    epochs = np.array([number(row.get("epoch")) for row in rows])
    accuracy = np.array([number(row.get("val/acc")) for row in rows])
    known = np.isfinite(accuracy).any()
    best = int(np.nanargmax(accuracy)) if known else None
    words = "No validation accuracy."
    if best is not None:
        score = f"{accuracy[best]:.3f} in epoch {epochs[best]:.0f}"
        words = f"Best validation accuracy {score} (vertical line)."
    figure = new_figure(MIDDLE, 2.1, title, words, legend_rows=1)
    panels = figure.subplots(1, 2, sharex=True)
    for axes, name, label in zip(panels, ("loss", "acc"), ("loss", "accuracy"), strict=True):
        for part, (colour, dashes, marker) in PARTS.items():
            values = np.array([number(row.get(f"{part}/{name}")) for row in rows])
            if np.isfinite(values).any():
                axes.plot(
                    epochs, values, color=colour, linestyle=dashes, marker=marker, markersize=2.5
                )
        if not axes.lines:
            note(axes, f"no {label} in these rows")
        elif best is not None:
            axes.axvline(epochs[best], color=GREY, linewidth=0.6, zorder=1)
        axes.set_ylabel(label)
        axes.set_xlabel("epoch (from 0)")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        tidy(axes)
    entries: dict[str, Artist] = {
        {"train": "training", "val": "validation"}[part]: Line2D(
            [], [], color=colour, linestyle=dashes, marker=marker, markersize=3
        )
        for part, (colour, dashes, marker) in PARTS.items()
    }
    if majority is not None:
        panels[1].axhline(majority, color=GREY, linestyle=":", linewidth=1)
        entries["largest class alone"] = Line2D([], [], color=GREY, linestyle=":")
    legend(figure, entries, ncols=3)
    return figure


# --- Several models over epochs, one line a run: learning curves, focus, whatever is measured


Line = tuple[NDArray[np.float64], NDArray[np.float64]]  # epochs and values
WIDEST = 64.0  # on a logarithmic axis nothing beyond this factor of 1 is shown


class Panel(NamedTuple):
    """What one panel shows.

    Args:
        title: above it.
        lines: model → one line for each of its runs.
        levels: name → a height that needs no training, drawn as a grey line.
        log: draw ratios, with 1 in the middle.
    """

    title: str
    lines: Mapping[str, Sequence[Line]]
    levels: Mapping[str, float]
    log: bool = False


@styled
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
    entries: dict[str, Artist] = model_entries(models)
    entries |= {
        name: Line2D([], [], color=GREY, linestyle=_dash(place), linewidth=1)
        for place, name in enumerate(names)
    }
    width = MIDDLE if columns == 1 else DOUBLE
    figure = new_figure(width, 2.2 * rows, title, caption, math.ceil(len(entries) / 5))
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=bool(ylabel))
    for axes, panel in zip(grid.flat, panels, strict=False):
        _panel(axes, panel, models, names)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel(ylabel)
    for axes in grid[-1]:
        axes.set_xlabel("epoch (from 0)")
    legend(figure, entries, ncols=min(5, len(entries)))
    return figure


def _panel(axes: Axes, panel: Panel, models: Sequence[str], names: Sequence[str]) -> None:
    for model, lines in panel.lines.items():
        look = model_look(models.index(model))
        for epochs, values in lines:
            many = len(epochs) > 15
            axes.plot(
                epochs,
                values,
                color=look.colour,
                linestyle=look.dashes,
                linewidth=1.1,
                marker=look.marker,
                markersize=2.2,
                markevery=3 if many else 1,
                alpha=0.85,
            )
    if not axes.lines:
        note(axes, "not measured")
    for name, height in panel.levels.items():
        if np.isfinite(height):
            dashes = _dash(names.index(name))
            axes.axhline(height, color=GREY, linewidth=0.9, linestyle=dashes, zorder=1)
    axes.set_title(panel.title)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    if panel.log:
        _ratio_axis(axes, panel)
    tidy(axes)


def _ratio_axis(axes: Axes, panel: Panel) -> None:
    values = [1.0, *panel.levels.values()]
    values += [v for lines in panel.lines.values() for line in lines for v in line[1].tolist()]
    shown = np.clip([v for v in values if np.isfinite(v) and v > 0], 1 / WIDEST, WIDEST)
    axes.set_yscale("log", base=2)
    axes.set_ylim(min(shown.min(), 0.8) / 1.15, max(shown.max(), 1.25) * 1.15)
    axes.yaxis.set_major_locator(LogLocator(base=2, numticks=8))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _dash(place: int) -> tuple[int, tuple[float, ...]]:
    return ((0, (1, 1.5)), (0, (4, 2)), (0, (4, 1.5, 1, 1.5)), (0, (8, 2)))[place % 4]


# --- Accuracy against the share of training images, and the lead of one model over another


APART = 1.2  # percent of the training images by which models are drawn beside each other
BAR: dict[str, Any] = {"capsize": 2.5, "linewidth": 1.1, "markersize": 5}


class Level(NamedTuple):
    """A number at one fraction: its interval, and one value a seed."""

    fraction: float
    mean: float
    low: float
    high: float
    seeds: tuple[float, ...] = ()


@styled
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
    width = DOUBLE if lead else MIDDLE
    entries = model_entries(list(accuracies))
    entries["one seed"] = Line2D([], [], color=GREY, marker=".", linestyle="", markersize=4)
    if paper and lead:
        entries["paper's lead (FER-2013)"] = Line2D(
            [], [], color=BLACK, marker="D", markerfacecolor="none", linestyle=":", markersize=4
        )
    figure = new_figure(width, 2.5, title, caption, math.ceil(len(entries) / 5))
    panels = figure.subplots(1, 2 if lead else 1, squeeze=False)[0]
    for place, levels in enumerate(accuracies.values()):
        look = model_look(place)
        shift = APART * (place - (len(accuracies) - 1) / 2)
        _levels(panels[0], levels, shift, look.colour, look.marker, look.dashes)
    panels[0].set_ylabel("test accuracy")
    if not any(accuracies.values()):
        note(panels[0], "no runs")
    if lead:
        _lead(panels[1], lead, paper or {}, pair)
    fractions = sorted({level.fraction for levels in accuracies.values() for level in levels})
    for axes in panels:
        axes.set_xlabel("training images, percent")
        axes.set_xticks([100 * fraction for fraction in fractions])
        axes.set_xlim(100 * min(fractions, default=0) - 8, 100 * max(fractions, default=1) + 8)
        tidy(axes)
    legend(figure, entries, ncols=min(5, len(entries)))
    return figure


def _lead(
    axes: Axes, lead: Sequence[Level], paper: Mapping[float, float], pair: tuple[str, str]
) -> None:
    axes.axhline(0, color=GREY, linewidth=0.6, zorder=1)
    _levels(axes, lead, 0, BLACK, "o", "-")
    first, last = lead[0].fraction, lead[-1].fraction  # further ones have no room
    shown = {fraction: points for fraction, points in paper.items() if first <= fraction <= last}
    if shown:
        x = [100 * fraction + APART for fraction in shown]
        axes.plot(x, list(shown.values()), "D:", color=BLACK, mfc="none", markersize=4, lw=0.9)
    axes.set_ylabel(f"{pair[0]} minus {pair[1]}, points")


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
