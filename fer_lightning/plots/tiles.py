"""Many small pictures on one panel: quicker to draw than a panel each, and easier to align."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fer_lightning.plots.style import EDGE, SMALL, blank, new_figure, text_height


def board(
    width: float, columns: float, rows: float, title: str = "", caption: str = ""
) -> tuple[Figure, Axes]:
    """Return a figure with one panel, measured in tiles from its upper left corner.

    Args:
        width: of the figure, in inches.
        columns: width of the panel in tiles; fractions leave room for gaps and letters.
        rows: its height in tiles.
        title: above the panel.
        caption: below it.

    >>> figure, axes = board(7.0, columns=10, rows=4)
    >>> [float(end) for end in (*axes.get_xlim(), *axes.get_ylim())]  # y grows downwards
    [0.0, 10.0, 4.0, 0.0]
    """
    inch = (width - 2 * EDGE) / columns  # of one tile
    figure = new_figure(width, rows * inch + 2 * EDGE, title, caption)
    figure.set_layout_engine("none")
    total = figure.get_figheight()
    below = text_height(figure.get_supxlabel(), SMALL) + EDGE
    axes = figure.add_axes((EDGE / width, below / total, 1 - 2 * EDGE / width, rows * inch / total))
    blank(axes)
    axes.set_aspect("equal")
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    return figure, axes


def place(axes: Axes, picture: NDArray[Any], left: float, top: float, **options: Any) -> None:
    """Show a picture one tile wide and high, its pixels as they are.

    Args:
        axes: a `board`.
        picture: (H, W) grey or (H, W, 3) colours, 0 to 255; with `cmap`, any numbers.
        left: place in tiles.
        top: place in tiles, downwards.
        options: for imshow, such as `cmap`, `vmin`, `vmax`.
    """
    limits = axes.get_xlim(), axes.get_ylim()  # imshow moves them
    grey: dict[str, Any] = {"cmap": "gray", "vmin": 0, "vmax": 255}
    # a picture with fewer pixels than the tile keeps its squares, others are smoothed down
    how = "nearest" if len(picture) < 100 else "antialiased"
    extent = (left, left + 1, top + 1, top)
    axes.imshow(np.squeeze(picture), extent=extent, interpolation=how, **(grey | options))
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])
