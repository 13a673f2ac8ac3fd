"""Runs of a sweep: lines across their parameters, what each parameter decides, curves."""

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

from fer_lightning.plots import style

COLOURS = "viridis_r"  # dark is best, also in grey print
HALO: list[AbstractPathEffect] = [withStroke(linewidth=2.0, foreground="white")]
SPREAD = 0.012  # of an axis: runs with the same category are drawn beside each other
FEW = 6  # values that are all written beside the axis
APART = 0.06  # of an axis: words nearer to each other cannot be read
LONGEST = 22  # letters of a category's name


@dataclass(frozen=True)
class Axis:
    """One vertical axis."""

    name: str  # what stands above it
    values: Sequence[float | str]  # one per run: numbers, or words for categories
    log: bool = False  # whether the numbers were drawn evenly in their logarithm

    @property
    def categories(self) -> list[str]:
        """The words in the order of their first run; none for numbers."""
        words = [value for value in self.values if isinstance(value, str)]
        return list(dict.fromkeys(words)) if len(words) == len(self.values) else []

    def places(self) -> np.ndarray:
        """Height of each run on the axis, from 0 to 1; (N,)."""
        if self.categories:
            return np.array([self._place_of(str(value)) for value in self.values])
        low, high = self._ends()
        return (self._scaled(self.values) - low) / ((high - low) or 1.0)

    def _place_of(self, word: str) -> float:
        """Height of a category; none stands at an end of the axis."""
        return (self.categories.index(word) + 0.5) / len(self.categories)

    def _scaled(self, values: Any) -> np.ndarray:
        numbers = np.asarray(values, float)
        return np.log10(numbers) if self.log else numbers

    def _ends(self) -> tuple[float, float]:
        """Scaled numbers at the ends of the axis."""
        found = self._scaled(self.values)
        low, high = float(found.min()), float(found.max())
        return (low, high) if high > low else (low - 0.5, high + 0.5)

    def ticks(self) -> dict[float, str]:
        """Height → what stands there."""
        if self.categories:
            short = (w if len(w) <= LONGEST else f"{w[: LONGEST - 1]}…" for w in self.categories)
            return dict(zip(map(self._place_of, self.categories), short, strict=True))
        low, high = self._ends()
        distinct = sorted({float(value) for value in self.values})
        levels = [float(level) for level in self._scaled(distinct)]
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


@style.styled
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
    figure = style.new_figure(style.DOUBLE if len(axes) > 3 else style.MIDDLE, 2.9, title, caption)
    panel = figure.subplots()
    style.blank(panel)
    panel.set(xlim=(-0.35, len(axes) - 0.55), ylim=(-0.03, 1.13))
    count = len(axes[-1].values)
    if not count:
        style.note(panel, "no runs")
        return figure
    goodness = axes[-1].places() if maximize else 1 - axes[-1].places()
    heights = np.stack([_apart(axis) for axis in axes])  # (axes, N)
    colours = mpl.colormaps[COLOURS](0.1 + 0.85 * goodness)
    best = int(np.argmax(goodness))
    for run in sorted(range(count), key=lambda k: (k == best, goodness[k])):
        colour, width, alpha = (style.BLACK, 2.0, 1.0) if run == best else (colours[run], 1.1, 0.85)
        dashes: Any = (0, (3, 1.5)) if dashed and dashed[run] else "-"
        (line,) = panel.plot(heights[:, run], c=colour, lw=width, ls=dashes, alpha=alpha)
        line.set_solid_joinstyle("round")
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
    panel.plot([place, place], [0, 1], color=style.BLACK, linewidth=0.7, zorder=3)
    panel.text(place, 1.06, axis.name, ha="center", va="bottom", fontsize=8, fontweight="bold")
    for height, word in axis.ticks().items():
        panel.plot(
            [place - 0.02, place], [height, height], color=style.BLACK, linewidth=0.7, zorder=3
        )
        text = panel.text(place - 0.04, height, word, ha="right", va="center", fontsize=7, zorder=4)
        text.set_path_effects(HALO)


class Bar(NamedTuple):
    """One parameter."""

    name: str
    importance: float  # share of all, from 0 to 1
    spread: float  # standard deviation
    correlation: float  # from -1 to 1; NaN for categories without an order


@style.styled
def importance_figure(
    bars: Sequence[Bar], metric: str, title: str = "", caption: str = ""
) -> Figure:
    """Draw importance beside correlation, one row per parameter.

    Args:
        bars: the most important first.
        metric: what is explained.
        title: above it.
        caption: below it.

    >>> figure = importance_figure([Bar("lr", 0.8, 0.1, -0.5)], "val/acc")
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['importance', 'correlation with val/acc']
    """
    figure = style.new_figure(style.MIDDLE, 0.75 + 0.26 * max(len(bars), 2), title, caption)
    left, right = figure.subplots(1, 2, sharey=True)
    rows = list(range(len(bars)))[::-1]
    names, importances, spreads, _ = zip(*bars, strict=True) if bars else ((), (), (), ())
    whiskers = {"elinewidth": 0.8, "capsize": 2, "ecolor": style.GREY}
    left.barh(rows, importances, 0.6, xerr=spreads, color=style.BLUE, error_kw=whiskers)
    left.set_yticks(rows, names)
    left.set(xlim=(0, 1.02), xlabel="importance")
    for row, bar in zip(rows, bars, strict=True):
        if math.isnan(bar.correlation):
            right.text(
                0.03, row, "no order", color=style.GREY, fontsize=7, style="italic", va="center"
            )
        else:
            colour = style.VERMILLION if bar.correlation < 0 else style.BLUE
            right.barh(row, bar.correlation, 0.6, color=colour)
    right.axvline(0, color=style.GREY, linewidth=0.6)
    right.set(xlim=(-1, 1), xlabel=f"correlation with {metric}")
    if not bars:
        style.note(left, "nothing varied")
    for axes in (left, right):
        style.tidy(axes)
    return figure


class Curve(NamedTuple):
    """One run."""

    values: Sequence[float]  # epoch by epoch
    stopped: bool = False  # ended early because others were better


@style.styled
def sweep_curves(
    curves: Sequence[Curve], metric: str, maximize: bool = True, title: str = "", caption: str = ""
) -> Figure:
    """Draw all runs, the best on top in black; a cross ends those that were stopped early.

    >>> sweep_curves([Curve([0.1, 0.2]), Curve([0.1], True)], "val/acc").axes[0].get_ylabel()
    'val/acc'
    """
    figure = style.new_figure(style.MIDDLE, 2.3, title, caption, legend_rows=1)
    axes = figure.subplots()
    drawn = [curve for curve in curves if len(curve.values)]
    ends = np.array([(max if maximize else min)(curve.values) for curve in drawn] or [0.0])
    goodness = (ends - ends.min()) / ((ends.max() - ends.min()) or 1.0)
    goodness = goodness if maximize else 1 - goodness
    best = int(np.argmax(goodness))
    for run, curve in sorted(
        enumerate(drawn), key=lambda pair: (pair[0] == best, goodness[pair[0]])
    ):
        colour = style.BLACK if run == best else mpl.colormaps[COLOURS](0.1 + 0.85 * goodness[run])
        epochs = range(1, len(curve.values) + 1)
        single = "." if len(curve.values) == 1 else ""
        axes.plot(epochs, curve.values, color=colour, lw=2.0 if run == best else 1.0, marker=single)
        if curve.stopped:
            axes.plot(len(curve.values), curve.values[-1], "x", color=colour, markersize=5)
    if not drawn:
        style.note(axes, "no epochs")
    axes.set_xlabel("epoch")
    axes.set_ylabel(metric)
    style.epoch_axis(axes)
    style.tidy(axes)
    entries = {
        "best run": Line2D([], [], color=style.BLACK, linewidth=2.0),
        "other runs, darker is better": Line2D([], [], color=mpl.colormaps[COLOURS](0.5)),
        "stopped early": Line2D([], [], color=style.GREY, marker="x", linestyle="", markersize=5),
    }
    if not any(curve.stopped for curve in drawn):
        del entries["stopped early"]
    style.legend(figure, dict(entries), ncols=3)
    return figure
