"""The picture at the top of the README: what models are given, and where the answer lies."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fer_lightning.plots.regions import outline, present, region_entries
from fer_lightning.plots.style import DOUBLE, REGION_COLOURS, check_lengths, styled
from fer_lightning.plots.tiles import board, place

HEAD, GAP, FOOT = 0.17, 0.04, 0.17  # tiles


@styled
def hero(
    large: NDArray[np.uint8],
    small: NDArray[np.uint8],
    masks: dict[str, NDArray[np.bool_]],
    names: Sequence[str],
) -> Figure:
    """Show faces as drawn, and below them as models see them, their regions outlined.

    Args:
        large: (N, S, S) faces in many pixels.
        small: (N, s, s) the same faces in few pixels.
        masks: region name → (N, s, s), exact for each face.
        names: N words above the faces.

    Returns:
        A wide strip without a title.

    >>> faces, mask = np.zeros((2, 96, 96), np.uint8), np.ones((2, 8, 8), bool)
    >>> figure = hero(faces, faces[:, :8, :8], {"nose": mask}, ("sad", "happy"))
    >>> [text.get_text() for text in figure.axes[0].texts][:2]
    ['sad', 'happy']
    """
    check_lengths(names=names, large=large, small=small, **masks)
    step = 1 + GAP
    figure, axes = board(DOUBLE, len(names) * step - GAP, HEAD + 2 + GAP + FOOT)
    second = HEAD + step
    for k, name in enumerate(names):
        x = k * step
        axes.text(x + 0.5, HEAD * 0.4, name, fontweight="bold", ha="center", va="center")
        place(axes, large[k], x, HEAD)
        place(axes, small[k], x, second)
        for region in present(masks):
            frame = (x, x + 1, second + 1, second)
            outline(axes, masks[region][k], REGION_COLOURS[region], frame, linewidth=0.9)
    side = small.shape[1]
    words = f"Above: as drawn. Below: {side}x{side} pixels, as models see them, with exact regions"
    axes.text(0, second + 1 + FOOT / 2, words, fontsize=7, va="center")
    entries = region_entries(present(masks))
    axes.legend(
        list(entries.values()),
        list(entries),
        ncols=max(1, len(entries)),
        loc="center right",
        bbox_to_anchor=(1, FOOT / 2 / (second + 1 + FOOT)),
        borderpad=0,
        borderaxespad=0,
        handlelength=1.2,
        columnspacing=1.2,
    )
    return figure
