"""Pictures of a data set: a sheet of faces by class, and the regions over a mean face."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fer_lightning.data.image_set import ImageSet

# Okabe and Ito's colours: told apart by colour-blind readers, and by lightness in grey print
COLOURS = {
    "eyes": "#56B4E9",
    "eyebrow": "#E69F00",
    "nose": "#009E73",
    "mouth": "#D55E00",
    "face": "#F0E442",
}


def sheet(image_set: "ImageSet", per_class: int = 10, seed: int = 0) -> Figure:
    """Lay out random images, one row a class.

    Args:
        image_set: any data set, grey or colour.
        per_class: images in a row; a class with fewer leaves blanks.
        seed: of the choice.

    Returns:
        A figure 7 inches wide, titled with the data set's name and fingerprint.

    >>> from fer_lightning.data.faces import drawn_faces
    >>> [text.get_text() for text in sheet(drawn_faces(21), 3).axes[0].get_yticklabels()][:2]
    ['angry', 'disgust']
    """
    rng = np.random.default_rng(seed)
    classes = len(image_set.classes)
    channels, height, width = image_set.images.shape[1:]
    gap = max(1, height // 24)
    tall, wide = height + gap, width + gap
    canvas = np.full((classes * tall - gap, per_class * wide - gap, channels), 255, np.uint8)
    for row in range(classes):
        members = rng.permutation(np.flatnonzero(image_set.labels == row))[:per_class]
        for column, k in enumerate(members):
            y, x = row * tall, column * wide
            canvas[y : y + height, x : x + width] = image_set.images[k].transpose(1, 2, 0)
    picture_width = 6.2
    picture_height = picture_width * canvas.shape[0] / canvas.shape[1]
    figure = Figure(figsize=(picture_width + 0.8, picture_height + 0.45), layout="constrained")
    axes = figure.subplots()
    _show(axes, canvas, "nearest")
    axes.set_yticks([row * tall + (height - 1) / 2 for row in range(classes)], image_set.classes)
    axes.tick_params(length=0)
    axes.set_title(f"{image_set.name} · {image_set.fingerprint}", fontsize=9)
    return figure


def region_figure(
    face: NDArray[np.floating], masks: dict[str, NDArray[np.bool_]], title: str = ""
) -> Figure:
    """Show a face, and the same face with its regions filled and outlined.

    Args:
        face: (H, W) grey levels, for instance the mean of a data set.
        masks: region name → (H, W) mask; drawn are those with a colour in COLOURS.
        title: what the face is.

    >>> figure = region_figure(np.zeros((8, 8)), {"mouth": np.eye(8, dtype=bool)})
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['mouth']
    """
    drawn = {name: colour for name, colour in COLOURS.items() if name in masks}
    figure = Figure(figsize=(7.0, 3.9), layout="constrained")
    plain, marked = figure.subplots(1, 2)
    _show(plain, face, "bicubic")
    _show(marked, face, "bicubic")
    for name, colour in drawn.items():
        mask = masks[name]
        if name != "face":  # the oval is an outline only, or it would tint all others
            tint = np.zeros((*mask.shape, 4))
            tint[mask] = [*(int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)), 0.45]
            marked.imshow(tint, interpolation="nearest")
        # outlines run along pixel borders: every pixel is drawn as a block of 8x8
        fine = np.pad(mask.repeat(8, 0).repeat(8, 1).astype(float), 1)
        y, x = ((np.arange(side) - 0.5) / 8 - 0.5 for side in fine.shape)
        marked.contour(x, y, fine, levels=[0.5], colors=[colour], linewidths=1.4)
    lines = [Line2D([], [], color=colour, linewidth=4) for colour in drawn.values()]
    figure.legend(lines, list(drawn), loc="outside lower center", ncols=len(drawn), frameon=False)
    if title:
        figure.suptitle(title, fontsize=10)
    for axes in (plain, marked):
        axes.set_xticks([])
        axes.set_yticks([])
    return figure


def _show(axes: Axes, picture: NDArray[Any], interpolation: str) -> None:
    """Show grey levels or colours from 0 to 255 as they are, without a frame."""
    axes.imshow(np.squeeze(picture), cmap="gray", interpolation=interpolation, vmin=0, vmax=255)
    axes.set_xticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
