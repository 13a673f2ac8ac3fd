"""Runs of a sweep as lines across their parameters, coloured by what came of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import AbstractPathEffect, withStroke
from matplotlib.ticker import MaxNLocator

from fer_lightning.plots.style import (
    BLACK,
    BLUE,
    DOUBLE,
    GREY,
    MIDDLE,
    VERMILLION,
    blank,
    legend,
    new_figure,
    note,
    styled,
    tidy,
)

COLOURS = "viridis_r"  # dark is best, also in grey print
HALO: list[AbstractPathEffect] = [withStroke(linewidth=2.0, foreground="white")]
SPREAD = 0.012  # of an axis: runs with the same category are drawn beside each other
FEW = 6  # values that are all written beside the axis
APART = 0.06  # of an axis: words nearer to each other cannot be read
LONGEST = 22  # letters of a category's name


@dataclass(frozen=True)
class Axis:
    """One vertical axis.

    Args:
        name: what stands above it.
        values: one a run: numbers, or words for categories.
        log: whether the numbers were drawn evenly in their logarithm.
    """

    name: str
    values: Sequence[float | str]
    log: bool = False

    @property
    def categories(self) -> list[str]:
        """The words in the order of their first run; none for numbers."""
        words = [value for value in self.values if isinstance(value, str)]
        return list(dict.fromkeys(words)) if len(words) == len(self.values) else []

    def places(self) -> np.ndarray:
        """Height of each run on the axis, from 0 to 1; (N,)."""
        if self.categories:
            return np.array([self.place_of(str(value)) for value in self.values])
        low, high = self.ends()
        return (self.scaled(self.values) - low) / ((high - low) or 1.0)

    def place_of(self, word: str) -> float:
        """Height of a category; none stands at an end of the axis."""
        return (self.categories.index(word) + 0.5) / len(self.categories)

    def scaled(self, values: Any) -> np.ndarray:
        """Numbers, or their logarithms."""
        numbers = np.asarray(values, float)
        return np.log10(numbers) if self.log else numbers

    def ends(self) -> tuple[float, float]:
        """Scaled numbers at the ends of the axis."""
        found = self.scaled(self.values)
        low, high = float(found.min()), float(found.max())
        return (low, high) if high > low else (low - 0.5, high + 0.5)

    def ticks(self) -> dict[float, str]:
        """Height → what stands there."""
        if self.categories:
            return {self.place_of(word): _short(word) for word in self.categories}
        low, high = self.ends()
        distinct = sorted({float(value) for value in self.values})
        levels = [float(level) for level in self.scaled(distinct)]
        close = np.diff(levels).min(initial=np.inf) < APART * (high - low)
        if len(levels) > FEW or close:
            levels = self._levels(low, high)
        return {
            (level - low) / (high - low): f"{10**level if self.log else level:.3g}"
            for level in levels
        }

    def _levels(self, low: float, high: float) -> list[float]:
        """Round numbers between the ends, scaled."""
        if not self.log:
            found = MaxNLocator(5).tick_values(low, high)
            return [float(level) for level in found if low <= level <= high]
        powers = range(math.floor(low), math.ceil(high) + 1)
        digits = (1,) if high - low > 2 else (1, 3) if high - low > 1 else (1, 2, 3, 5)
        found = [power + math.log10(digit) for power in powers for digit in digits]
        return [level for level in found if low <= level <= high]


@styled
def parallel_coordinates(
    axes: Sequence[Axis],
    maximize: bool = True,
    title: str = "",
    caption: str = "",
    dashed: Sequence[bool] = (),
) -> Figure:
    """Draw each run as a line from axis to axis.

    Args:
        axes: the parameters, last the metric, of the same N runs.
        maximize: whether more of the metric is better.
        title: above it.
        caption: below it.
        dashed: which runs were stopped early.

    >>> lr, acc = Axis("lr", [1e-4, 1e-3], log=True), Axis("val/acc", [0.3, 0.5])
    >>> len(parallel_coordinates([lr, acc]).axes[0].lines)
    8
    """
    width = DOUBLE if len(axes) > 3 else MIDDLE
    figure = new_figure(width, 2.9, title, caption)
    panel = figure.subplots()
    blank(panel)
    panel.set_xlim(-0.35, len(axes) - 0.55)
    panel.set_ylim(-0.03, 1.13)
    count = len(axes[-1].values)
    if not count:
        note(panel, "no runs")
        return figure
    goodness = axes[-1].places() if maximize else 1 - axes[-1].places()
    heights = np.stack([_apart(axis) for axis in axes])  # (axes, N)
    colours = mpl.colormaps[COLOURS](0.1 + 0.85 * goodness)
    best = int(np.argmax(goodness))
    for run in sorted(range(count), key=lambda k: (k == best, goodness[k])):
        stopped = bool(dashed) and dashed[run]
        panel.plot(
            range(len(axes)),
            heights[:, run],
            color=BLACK if run == best else colours[run],
            linewidth=2.0 if run == best else 1.1,
            linestyle=(0, (3, 1.5)) if stopped else "-",
            alpha=1.0 if run == best else 0.85,
            solid_joinstyle="round",
        )
    for place, axis in enumerate(axes):
        _axis(panel, place, axis)
    return figure


def _apart(axis: Axis) -> np.ndarray:
    """Heights, with runs of one category spread a little."""
    places = axis.places()
    if not axis.categories:
        return places
    apart = np.zeros(len(places))
    for place in np.unique(places):
        same = np.flatnonzero(places == place)
        apart[same] = (np.arange(len(same)) - (len(same) - 1) / 2) * min(
            SPREAD, 0.5 / len(axis.categories) / len(same)
        )
    return places + apart


def _axis(panel: Axes, place: int, axis: Axis) -> None:
    panel.plot([place, place], [0, 1], color=BLACK, linewidth=0.7, zorder=3)
    panel.text(place, 1.06, axis.name, ha="center", va="bottom", fontsize=8, fontweight="bold")
    for height, word in axis.ticks().items():
        panel.plot([place - 0.02, place], [height, height], color=BLACK, linewidth=0.7, zorder=3)
        text = panel.text(place - 0.04, height, word, ha="right", va="center", fontsize=7, zorder=4)
        text.set_path_effects(HALO)


def _short(word: str) -> str:
    return word if len(word) <= LONGEST else f"{word[: LONGEST - 1]}…"


# --- How much each parameter of a sweep decides, and in which direction


class Bar(NamedTuple):
    """One parameter."""

    name: str
    importance: float  # share of all, from 0 to 1
    spread: float  # standard deviation
    correlation: float  # from -1 to 1; NaN for categories without an order


@styled
def importance_figure(
    bars: Sequence[Bar], metric: str, title: str = "", caption: str = ""
) -> Figure:
    """Draw importance beside correlation, a row a parameter.

    Args:
        bars: the most important first.
        metric: what is explained.
        title: above it.
        caption: below it.

    >>> figure = importance_figure([Bar("lr", 0.8, 0.1, -0.5)], "val/acc")
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['importance', 'correlation with val/acc']
    """
    height = 0.75 + 0.26 * max(len(bars), 2)
    figure = new_figure(MIDDLE, height, title, caption)
    left, right = figure.subplots(1, 2, sharey=True)
    rows = list(range(len(bars)))[::-1]
    left.barh(
        rows,
        [bar.importance for bar in bars],
        0.6,
        xerr=[bar.spread for bar in bars],
        color=BLUE,
        error_kw={"elinewidth": 0.8, "capsize": 2, "ecolor": GREY},
    )
    left.set_yticks(rows, [bar.name for bar in bars])
    left.set_xlim(0, 1.02)
    left.set_xlabel("importance")
    for row, bar in zip(rows, bars, strict=True):
        if math.isnan(bar.correlation):
            right.text(0.03, row, "no order", color=GREY, fontsize=7, style="italic", va="center")
        else:
            colour = VERMILLION if bar.correlation < 0 else BLUE
            right.barh(row, bar.correlation, 0.6, color=colour)
    right.axvline(0, color=GREY, linewidth=0.6)
    right.set_xlim(-1, 1)
    right.set_xlabel(f"correlation with {metric}")
    if not bars:
        note(left, "nothing varied")
    for axes in (left, right):
        tidy(axes)
    return figure


# --- The metric of every run of a sweep over epochs


class Curve(NamedTuple):
    """One run."""

    values: Sequence[float]  # epoch by epoch
    stopped: bool = False  # ended early because others were better


@styled
def sweep_curves(
    curves: Sequence[Curve], metric: str, maximize: bool = True, title: str = "", caption: str = ""
) -> Figure:
    """Draw all runs, the best on top in black; a cross ends those that were stopped early.

    >>> sweep_curves([Curve([0.1, 0.2]), Curve([0.1], True)], "val/acc").axes[0].get_ylabel()
    'val/acc'
    """
    figure = new_figure(MIDDLE, 2.3, title, caption, legend_rows=1)
    axes = figure.subplots()
    drawn = [curve for curve in curves if len(curve.values)]
    ends = np.array([(max if maximize else min)(curve.values) for curve in drawn] or [0.0])
    goodness = (ends - ends.min()) / ((ends.max() - ends.min()) or 1.0)
    goodness = goodness if maximize else 1 - goodness
    best = int(np.argmax(goodness))
    for run, curve in sorted(
        enumerate(drawn), key=lambda pair: (pair[0] == best, goodness[pair[0]])
    ):
        colour = BLACK if run == best else mpl.colormaps[COLOURS](0.1 + 0.85 * goodness[run])
        epochs = range(len(curve.values))  # counted from 0, as they are logged
        single = "." if len(curve.values) == 1 else ""
        axes.plot(epochs, curve.values, color=colour, lw=2.0 if run == best else 1.0, marker=single)
        if curve.stopped:
            axes.plot(len(curve.values) - 1, curve.values[-1], "x", color=colour, markersize=5)
    if not drawn:
        note(axes, "no epochs")
    axes.set_xlabel("epoch")
    axes.set_ylabel(metric)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    tidy(axes)
    entries = {
        "best run": Line2D([], [], color=BLACK, linewidth=2.0),
        "other runs, darker is better": Line2D([], [], color=mpl.colormaps[COLOURS](0.5)),
        "stopped early": Line2D([], [], color=GREY, marker="x", linestyle="", markersize=5),
    }
    if not any(curve.stopped for curve in drawn):
        del entries["stopped early"]
    legend(figure, dict(entries), ncols=3)
    return figure
