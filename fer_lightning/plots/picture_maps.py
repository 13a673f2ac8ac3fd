"""One picture beside its maps by several methods, with the regions outlined."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fer_lightning.plots.faces import outline, region_entries
from fer_lightning.plots.style import blank, legend, new_figure, region_colours, styled, wrapped

PANEL = 1.9  # inches


@styled
def picture_maps(
    picture: NDArray[np.uint8],
    overlays: Sequence[NDArray[np.uint8]],
    titles: Sequence[str],
    masks: Mapping[str, NDArray[np.bool_]],
    title: str = "",
) -> Figure:
    """Show a picture with its regions, then each map over the picture with the same outlines.

    Args:
        picture: (H, W, 3).
        overlays: a picture with heat over it for each method, (h, w, 3) of any size.
        titles: above each overlay.
        masks: the regions that are outlined, (H, W) each; may be empty.
        title: above all.

    >>> face, mouth = np.zeros((8, 8, 3), np.uint8), np.eye(8, dtype=bool)
    >>> figure = picture_maps(face, [face], ["Grad-CAM"], {"mouth": mouth})
    >>> [axes.get_title() for axes in figure.axes]
    ['picture', 'Grad-CAM']
    """
    shown = {name: mask for name, mask in masks.items() if mask.any()}
    colours = region_colours(list(masks))
    panels = 1 + len(overlays)
    lines = 1 + max((text.count("\n") for text in titles), default=0)
    size = (PANEL * panels, PANEL + 0.15 * lines)
    figure = new_figure(*size, title, legend_rows=1 if shown else 0)
    height, width = picture.shape[:2]
    extent = (-0.5, width - 0.5, height - 0.5, -0.5)
    every = zip(
        figure.subplots(1, panels, squeeze=False)[0],
        (picture, *overlays),
        ("picture", *titles),
        strict=True,
    )
    for axes, image, above in every:
        axes.imshow(image, extent=extent, interpolation="bicubic" if image is picture else None)
        axes.set_title("\n".join(wrapped(line, PANEL, 8) for line in above.split("\n")))
        for name, mask in shown.items():
            outline(axes, mask, colours[name], linewidth=0.9)
        blank(axes)
    if shown:
        entries = region_entries(list(masks))
        legend(figure, {name: entries[name] for name in shown}, ncols=len(shown))
    return figure
