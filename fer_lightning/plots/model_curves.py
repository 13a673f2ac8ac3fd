"""Several models over epochs, one line a run: learning curves, focus, whatever is measured."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray

from fer_lightning.plots.model_look import model_entries, model_look
from fer_lightning.plots.style import (
    DOUBLE,
    GREY,
    MIDDLE,
    legend,
    new_figure,
    note,
    styled,
    tidy,
)

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

    Returns:
        A figure as wide as two columns, or narrower for a single panel.

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
