"""What a transformer attends to, head by head, and what it has learned about places."""

from collections.abc import Sequence
from typing import Any

import cv2
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from fer_lightning.errors import UserError
from fer_lightning.plots import style

INFERNO = mpl.colormaps["inferno"]
HEAD, LINE = 0.2, 0.17  # inches for headings and numbers
GAP = 0.06  # between tiles, in tiles
CAPTION = (
    "Bright: more attention; each map from 0 (dark) to its own maximum. Below it that maximum, "
    "in multiples of even attention to all patches: near 1 a map is flat."
)
POSITION_CAPTION = (
    "Left: cosine similarity of the centre patch's position (cross) to all others. Right: the "
    "same map for every patch, at that patch's place; the centre's is framed."
)


@style.styled
def attention_figure(
    faces: NDArray[np.uint8],
    heads: NDArray[np.floating[Any]],
    rollout: NDArray[np.floating[Any]] | None = None,
    names: Sequence[str] | None = None,
    title: str = "",
) -> Figure:
    """Show the attention of every head of one layer to the patches of some faces.

    Args:
        faces: (N, H, W) grey or (N, H, W, 3); four to seven read well.
        heads: (N, heads, h, w) attention of [CLS] to the patches; any scale.
        rollout: (N, h, w) attention rollout over all layers.
        names: N words below the faces, such as class and prediction.
        title: model, layer, data set and its fingerprint.

    >>> figure = attention_figure(np.zeros((1, 8, 8), np.uint8), np.ones((1, 2, 4, 4)))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['image', 'head 1', 'head 2', 'mean', 'max 1.0', 'max 1.0', 'max 1.0']
    """
    given = {"faces": faces, "heads": heads, "rollout": rollout, "names": names}
    style.check_lengths(**{word: array for word, array in given.items() if array is not None})
    maps = [*np.moveaxis(heads, 1, 0), heads.mean(1)]
    headings = ["image", *(f"head {k + 1}" for k in range(heads.shape[1])), "mean"]
    if rollout is not None:
        maps, headings = [*maps, rollout], [*headings, "rollout"]
    step = 1 + GAP
    columns = max(7, len(headings)) * step - GAP
    tile = (style.DOUBLE - 2 * style.EDGE) / columns  # inches
    head, row_height = HEAD / tile, 1 + LINE / tile
    figure, axes = style.board(
        style.DOUBLE, columns, head + row_height * len(faces), title, CAPTION
    )
    for column, word in enumerate(headings):
        axes.text(column * step, head * 0.75, word, fontsize=7, fontweight="bold")
    for row, face in enumerate(faces):
        top = head + row * row_height
        style.place(axes, face, 0, top)
        if names is not None:
            axes.text(0, top + 1.03, names[row], fontsize=style.SMALL, va="top")
        for column, attention in enumerate(maps, start=1):
            x = column * step
            peak = float(attention[row].max())
            if not np.isfinite(attention[row]).all() or peak <= 0:
                axes.text(
                    x + 0.5, top + 0.5, "no attention", fontsize=5.5, color=style.GREY, ha="center"
                )
                continue
            style.place(axes, lit(face, attention[row] / peak), x, top)
            times = peak / attention[row].mean()
            axes.text(
                x, top + 1.03, f"max {times:.1f}", fontsize=style.SMALL, color=style.GREY, va="top"
            )
    return figure


def lit(face: NDArray[np.uint8], attention: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    """Colour a face by attention, (h, w) from 0 to 1; each patch becomes a block.

    Three parts colour, one part face, so that places are seen; at least 96 pixels high.
    """
    grey = face if face.ndim == 2 else cv2.cvtColor(face, cv2.COLOR_RGB2GRAY)
    times = -(-96 // len(grey))
    size = (grey.shape[1] * times, grey.shape[0] * times)
    grey = cv2.resize(grey, size, interpolation=cv2.INTER_NEAREST)
    colours = INFERNO(
        cv2.resize(attention.astype(np.float32), size, interpolation=cv2.INTER_NEAREST)
    )
    return (0.75 * 255 * colours[..., :3] + 0.25 * grey[..., None]).astype(np.uint8)


@style.styled
def position_figure(
    similarity: NDArray[np.floating[Any]], grid: tuple[int, int], title: str = ""
) -> Figure:
    """Show how similar each learned position is to all others.

    Args:
        similarity: (h·w, h·w) cosine similarities.
        grid: h and w.
        title: model, epoch, data set and its fingerprint.

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
    figure = style.new_figure(style.DOUBLE, 3.1, title, POSITION_CAPTION)
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
        style.blank(axes)
    bar = figure.colorbar(image, ax=[large, small], label="cosine similarity", shrink=0.9)
    bar.outline.set_visible(False)
    style.tidy(bar.ax)
    return figure


def mosaic(similarity: NDArray[np.floating[Any]], grid: tuple[int, int]) -> NDArray[np.float64]:
    """Lay out the map of each patch at that patch's place, one pixel apart; gaps are NaN."""
    h, w = grid
    tiles = np.full((h, h + 1, w, w + 1), np.nan)
    tiles[:, :h, :, :w] = similarity.reshape(h, w, h, w).transpose(0, 2, 1, 3)
    return tiles.reshape(h * (h + 1), w * (w + 1))[:-1, :-1]
