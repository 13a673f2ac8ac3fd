"""How much each parameter of a sweep decides, and in which direction."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from fer_lightning.plots.style import (
    BLUE,
    GREY,
    MIDDLE,
    VERMILLION,
    new_figure,
    note,
    styled,
    tidy,
)


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

    Returns:
        A figure one and a half columns wide.

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
