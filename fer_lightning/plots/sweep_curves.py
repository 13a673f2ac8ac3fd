"""The metric of every run of a sweep over epochs."""

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from fer_lightning.plots.parallel_coordinates import COLOURS
from fer_lightning.plots.style import BLACK, GREY, MIDDLE, legend, new_figure, note, styled, tidy


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
