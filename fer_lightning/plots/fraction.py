"""Accuracy against the share of training images, and the lead of one model over another."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fer_lightning.plots.model_look import model_entries, model_look
from fer_lightning.plots.style import (
    BLACK,
    DOUBLE,
    GREY,
    MIDDLE,
    legend,
    new_figure,
    note,
    styled,
    tidy,
)

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

    Returns:
        A figure as wide as two columns, or narrower with one panel; every seed is a dot.

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
