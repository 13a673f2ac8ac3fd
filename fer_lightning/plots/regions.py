"""The regions of a face, filled and outlined on it."""

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from fer_lightning.plots.style import DOUBLE, REGION_COLOURS, blank, legend, new_figure, styled

DRAWN = ("eyes", "eyebrow", "nose", "mouth", "face")  # the other regions are unions of these


@styled
def region_figure(
    face: NDArray[np.floating[Any]], masks: dict[str, NDArray[np.bool_]], title: str = ""
) -> Figure:
    """Show a face, and the same face with its regions filled and outlined.

    Args:
        face: (H, W) grey levels, for instance the mean of a data set.
        masks: region name → (H, W) mask; drawn are those named in DRAWN.
        title: what the face is.

    >>> figure = region_figure(np.zeros((8, 8)), {"mouth": np.eye(8, dtype=bool)})
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['mouth']
    """
    figure = new_figure(DOUBLE, 3.5, title, legend_rows=1)
    plain, marked = figure.subplots(1, 2)
    for axes in (plain, marked):
        axes.imshow(face, cmap="gray", interpolation="bicubic", vmin=0, vmax=255)
        blank(axes)
    for name in present(masks):
        if name != "face":  # the oval is an outline only, or it would tint all others
            fill(marked, masks[name], REGION_COLOURS[name])
        outline(marked, masks[name], REGION_COLOURS[name])
    entries = region_entries(present(masks))
    legend(figure, entries, ncols=max(1, len(entries)))
    return figure


def present(masks: dict[str, NDArray[np.bool_]]) -> list[str]:
    """Name the regions to draw, in their fixed order."""
    return [name for name in DRAWN if name in masks]


def region_entries(names: list[str]) -> dict[str, Artist]:
    """Entries of a legend."""
    return {name: Line2D([], [], color=REGION_COLOURS[name], linewidth=4) for name in names}


def fill(axes: Axes, mask: NDArray[np.bool_], colour: str) -> None:
    """Tint the pixels of a region."""
    tint = np.zeros((*mask.shape, 4))
    tint[mask] = [*(int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)), 0.45]
    axes.imshow(tint, interpolation="nearest")


def outline(
    axes: Axes,
    mask: NDArray[np.bool_],
    colour: str,
    extent: tuple[float, float, float, float] | None = None,
    linewidth: float = 1.4,
) -> None:
    """Draw a line along the pixel borders of a region.

    Args:
        axes: where the face is.
        mask: (H, W).
        colour: of the line.
        extent: left, right, bottom and top of the face, as imshow's; its default otherwise.
        linewidth: in points.
    """
    height, width = mask.shape
    left, right, bottom, top = extent or (-0.5, width - 0.5, height - 0.5, -0.5)
    scale = np.array([(right - left) / width, (bottom - top) / height])
    lines = LineCollection(
        list(border(mask) * scale + (left, top)),
        colors=colour,
        linewidths=linewidth,
        capstyle="round",
    )
    axes.add_collection(lines, autolim=False)


def border(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Find the sides of pixels where a region ends.

    Args:
        mask: (H, W).

    Returns:
        (L, 2, 2): the ends of each side as x, y from the upper left corner of the mask.

    >>> border(np.array([[True]])).astype(int).tolist()
    [[[0, 0], [1, 0]], [[0, 1], [1, 1]], [[0, 0], [0, 1]], [[1, 0], [1, 1]]]
    """
    padded = np.pad(mask, 1)
    y, x = np.nonzero((padded[1:] != padded[:-1])[:, 1:-1])  # sides above and below
    level = np.stack([np.stack([x, y], 1), np.stack([x + 1, y], 1)], 1)
    y, x = np.nonzero((padded[:, 1:] != padded[:, :-1])[1:-1])  # sides left and right
    upright = np.stack([np.stack([x, y], 1), np.stack([x, y + 1], 1)], 1)
    return np.concatenate([level, upright]).astype(np.float64)
