"""Accuracy against what a study varied, and against what it costs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from fer_lightning.plots import style
from fer_lightning.plots.curves import BAR

MANY_TIMES = 20  # from the smallest to the largest value: drawn on a logarithmic axis


class Point(NamedTuple):
    """An accuracy with its interval, over a number such as a dose, a size or multiply-adds."""

    x: float
    mean: float
    low: float
    high: float
    seeds: tuple[float, ...] = ()


def pareto(points: Mapping[str, Point]) -> list[str]:
    """Name those that no other reaches with less or as much of x, from the cheapest on.

    >>> pareto({"a": Point(1, 0.5, 0, 1), "b": Point(2, 0.4, 0, 1), "c": Point(3, 0.6, 0, 1)})
    ['a', 'c']
    """
    found: list[str] = []
    for name in sorted(points, key=lambda name: (points[name].x, -points[name].mean)):
        if not found or points[name].mean > points[found[-1]].mean:
            found.append(name)
    return found


@style.styled
def accuracy_by_value(
    accuracies: Mapping[str, Sequence[Point]], option: str, title: str = "", caption: str = ""
) -> Figure:
    """Draw test accuracy over the values of the option that a study varied.

    Args:
        accuracies: model → its points, models in the study's order.
        option: its name, under the axis.
        title: data set and its fingerprint.
        caption: what the intervals cover.

    >>> points = [Point(1000, 0.4, 0.35, 0.45), Point(5000, 0.5, 0.45, 0.55)]
    >>> accuracy_by_value({"vit": points}, "data.train_size").axes[0].get_xlabel()
    'data.train_size'
    """
    entries: dict[str, Artist] = dict(style.model_entries(list(accuracies)))
    figure = style.new_figure(style.MIDDLE, 2.5, title, caption, math.ceil(len(entries) / 5))
    axes = figure.subplots()
    for place, points in enumerate(accuracies.values()):
        look = style.model_look(place)
        ordered = sorted(points)
        _errorbars(axes, ordered, look.colour, look.marker, look.dashes)
    values = sorted({point.x for points in accuracies.values() for point in points})
    if values and values[0] > 0 and values[-1] >= MANY_TIMES * values[0]:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(values)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel(option)
    axes.set_ylabel("test accuracy")
    style.tidy(axes)
    style.legend(figure, entries, ncols=min(5, len(entries)))
    return figure


@style.styled
def accuracy_by_cost(
    points: Mapping[str, Point], xlabel: str, title: str = "", caption: str = ""
) -> Figure:
    """Draw each model's test accuracy over its arithmetic, with the front that none passes.

    >>> points = {"a": Point(10, 0.5, 0.4, 0.6), "b": Point(99, 0.6, 0.5, 0.7)}
    >>> [text.get_text() for text in accuracy_by_cost(points, "MFLOPs").axes[0].texts]
    ['a', 'b']
    """
    figure = style.new_figure(style.MIDDLE, 2.8, title, caption, legend_rows=1)
    axes = figure.subplots()
    for place, (name, point) in enumerate(points.items()):
        look = style.model_look(place)
        _errorbars(axes, [point], look.colour, look.marker, "")
        axes.annotate(
            name, (point.x, point.mean), (4, 4), textcoords="offset points", fontsize=style.SMALL
        )
    front = [points[name] for name in pareto(points)]
    axes.plot(
        [p.x for p in front],
        [p.mean for p in front],
        color=style.GREY,
        linewidth=0.9,
        drawstyle="steps-post",
        zorder=1,
    )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel(xlabel)
    axes.set_ylabel("test accuracy")
    axes.margins(x=0.15)
    style.tidy(axes)
    entry = {"most accurate for its cost": Line2D([], [], color=style.GREY, linewidth=0.9)}
    style.legend(figure, dict(entry), ncols=1)
    return figure


def _errorbars(axes: Axes, points: Sequence[Point], colour: str, marker: str, dashes: Any) -> None:
    """Draw intervals, a line through the means, and a dot for each seed."""
    x = [point.x for point in points]
    means = [point.mean for point in points]
    sides = [
        [max(point.mean - point.low, 0) for point in points],
        [max(point.high - point.mean, 0) for point in points],
    ]
    axes.errorbar(x, means, sides, fmt=marker, ls=dashes, color=colour, **BAR)
    dots = [(point.x, value) for point in points for value in point.seeds]
    if dots:
        right, values = zip(*dots, strict=True)
        axes.scatter(right, values, 8, colour, alpha=0.6, linewidths=0)
