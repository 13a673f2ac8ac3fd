"""What the [CLS] token of a transformer attends to, head by head."""

from collections.abc import Sequence
from typing import Any

import cv2
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fer_lightning.plots.style import DOUBLE, EDGE, GREY, SMALL, check_lengths, styled
from fer_lightning.plots.tiles import board, place

INFERNO = mpl.colormaps["inferno"]
HEAD, LINE = 0.2, 0.17  # inches for headings and numbers
GAP = 0.06  # between tiles, in tiles
CAPTION = (
    "Bright: more attention; each map from 0 (dark) to its own maximum. Below it that maximum, "
    "in multiples of even attention to all patches: near 1 a map is flat."
)


@styled
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

    Returns:
        A figure as wide as two columns, one row a face.

    Raises:
        UserError: not one set of maps a face.

    >>> figure = attention_figure(np.zeros((1, 8, 8), np.uint8), np.ones((1, 2, 4, 4)))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['image', 'head 1', 'head 2', 'mean', 'max 1.0', 'max 1.0', 'max 1.0']
    """
    given = {"faces": faces, "heads": heads, "rollout": rollout, "names": names}
    check_lengths(**{word: array for word, array in given.items() if array is not None})
    maps = [*np.moveaxis(heads, 1, 0), heads.mean(1)]
    headings = ["image", *(f"head {k + 1}" for k in range(heads.shape[1])), "mean"]
    if rollout is not None:
        maps, headings = [*maps, rollout], [*headings, "rollout"]
    step = 1 + GAP
    columns = max(7, len(headings)) * step - GAP
    tile = (DOUBLE - 2 * EDGE) / columns  # inches
    head, row_height = HEAD / tile, 1 + LINE / tile
    figure, axes = board(DOUBLE, columns, head + row_height * len(faces), title, CAPTION)
    for column, word in enumerate(headings):
        axes.text(column * step, head * 0.75, word, fontsize=7, fontweight="bold")
    for row, face in enumerate(faces):
        top = head + row * row_height
        place(axes, face, 0, top)
        if names is not None:
            axes.text(0, top + 1.03, names[row], fontsize=SMALL, va="top")
        for column, attention in enumerate(maps, start=1):
            x = column * step
            peak = float(attention[row].max())
            if not np.isfinite(attention[row]).all() or peak <= 0:
                axes.text(x + 0.5, top + 0.5, "no attention", fontsize=5.5, color=GREY, ha="center")
                continue
            place(axes, lit(face, attention[row] / peak), x, top)
            times = peak / attention[row].mean()
            axes.text(x, top + 1.03, f"max {times:.1f}", fontsize=SMALL, color=GREY, va="top")
    return figure


def lit(face: NDArray[np.uint8], attention: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    """Colour a face by attention: three parts colour, one part face, so that places are seen.

    Args:
        face: (H, W) or (H, W, 3).
        attention: (h, w) from 0 to 1; each patch becomes a block.

    Returns:
        (H, W, 3), at least 96 pixels high.
    """
    grey = face if face.ndim == 2 else cv2.cvtColor(face, cv2.COLOR_RGB2GRAY)
    times = -(-96 // len(grey))
    size = (grey.shape[1] * times, grey.shape[0] * times)
    grey = cv2.resize(grey, size, interpolation=cv2.INTER_NEAREST)
    colours = INFERNO(
        cv2.resize(attention.astype(np.float32), size, interpolation=cv2.INTER_NEAREST)
    )
    return (0.75 * 255 * colours[..., :3] + 0.25 * grey[..., None]).astype(np.uint8)
