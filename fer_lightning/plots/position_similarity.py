"""What a transformer has learned about places: how alike its position embeddings are."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from fer_lightning.errors import UserError
from fer_lightning.plots.style import DOUBLE, blank, new_figure, styled, tidy

CAPTION = (
    "Left: cosine similarity of the centre patch's position (cross) to all others. Right: the "
    "same map for every patch, at that patch's place; the centre's is framed."
)


@styled
def position_figure(
    similarity: NDArray[np.floating[Any]], grid: tuple[int, int], title: str = ""
) -> Figure:
    """Show how similar each learned position is to all others.

    Args:
        similarity: (h·w, h·w) cosine similarities.
        grid: h and w.
        title: model, epoch, data set and its fingerprint.

    Returns:
        A figure as wide as two columns: the map of the centre patch, and all h·w maps.

    Raises:
        UserError: similarities that do not fit the grid.

    >>> figure = position_figure(np.eye(16), (4, 4))
    >>> figure.axes[0].get_title(), int(figure.axes[0].images[0].get_array().argmax())
    ('patch 10 of 16 (row 2, column 2)', 10)
    """
    h, w = grid
    if similarity.shape != (h * w, h * w):
        raise UserError(
            f"expected similarities of shape ({h * w}, {h * w}) for a grid of {h}x{w} but got "
            f"{similarity.shape}; leave out the [CLS] token or give another grid"
        )
    row, column = h // 2, w // 2
    patch = row * w + column
    figure = new_figure(DOUBLE, 3.1, title, CAPTION)
    large, small = figure.subplots(1, 2)
    scale = {"cmap": "RdBu_r", "vmin": -1, "vmax": 1, "interpolation": "nearest"}
    large.imshow(similarity[patch].reshape(h, w), **scale)
    large.plot(column, row, "x", color="black", markersize=6)
    large.set_title(f"patch {patch} of {h * w} (row {row}, column {column})")
    image = small.imshow(mosaic(similarity, grid), **scale)
    corner = (column * (w + 1) - 0.75, row * (h + 1) - 0.75)
    small.add_patch(Rectangle(corner, w + 0.5, h + 0.5, fill=False, edgecolor="black"))
    small.set_title("all patches")
    for axes in (large, small):
        blank(axes)
    bar = figure.colorbar(image, ax=[large, small], label="cosine similarity", shrink=0.9)
    bar.outline.set_visible(False)
    tidy(bar.ax)
    return figure


def mosaic(similarity: NDArray[np.floating[Any]], grid: tuple[int, int]) -> NDArray[np.float64]:
    """Lay out the map of each patch at that patch's place, one pixel apart; gaps are NaN.

    >>> mosaic(np.eye(2), (1, 2))
    array([[ 1.,  0., nan,  0.,  1.]])
    """
    h, w = grid
    tiles = np.full((h, h + 1, w, w + 1), np.nan)
    tiles[:, :h, :, :w] = similarity.reshape(h, w, h, w).transpose(0, 2, 1, 3)
    return tiles.reshape(h * (h + 1), w * (w + 1))[:-1, :-1]
