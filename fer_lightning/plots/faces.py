"""A sheet of faces by class, whatever the data set."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fer_lightning.errors import UserError
from fer_lightning.plots.regions import outline, region_entries
from fer_lightning.plots.style import (
    DOUBLE,
    REGION_COLOURS,
    SINGLE,
    blank,
    legend,
    new_figure,
    styled,
    tidy,
)

if TYPE_CHECKING:
    from fer_lightning.data.image_set import ImageSet

NAMES, LARGEST = 0.8, 1.0  # inches for the names of classes; of one image


@styled
def sheet(
    image_set: "ImageSet", per_class: int = 10, seed: int = 0, regions: bool = False
) -> Figure:
    """Lay out random images, one row a class.

    Args:
        image_set: any data set, grey or colour.
        per_class: images in a row; a class with fewer leaves blanks.
        seed: of the choice.
        regions: outline the exact regions that the data set knows.

    Returns:
        A figure at most as wide as two columns, titled with the data set's name and fingerprint.

    Raises:
        UserError: regions asked for, but the data set has no exact masks.

    >>> from fer_lightning.data.faces import drawn_faces
    >>> [text.get_text() for text in sheet(drawn_faces(21), 3).axes[0].get_yticklabels()][:2]
    ['angry', 'disgust']
    """
    if regions and image_set.masks is None:
        raise UserError(
            f"expected exact region masks but {image_set.name} has none; leave out the regions"
        )
    rng = np.random.default_rng(seed)
    classes = len(image_set.classes)
    channels, height, width = image_set.images.shape[1:]
    gap = max(1, height // 24)
    tall, wide = height + gap, width + gap
    canvas = np.full((classes * tall - gap, per_class * wide - gap, channels), 255, np.uint8)
    places: dict[int, tuple[int, int]] = {}  # image → upper left corner
    for row in range(classes):
        members = rng.permutation(np.flatnonzero(image_set.labels == row))[:per_class]
        for column, k in enumerate(members):
            y, x = places[int(k)] = row * tall, column * wide
            canvas[y : y + height, x : x + width] = image_set.images[k].transpose(1, 2, 0)
    picture_width = min(DOUBLE - NAMES, per_class * LARGEST)
    picture_height = picture_width * canvas.shape[0] / canvas.shape[1]
    title = f"{image_set.name} · {image_set.fingerprint}"
    width = max(SINGLE, picture_width + NAMES)
    figure = new_figure(width, picture_height + 0.1, title, legend_rows=int(regions))
    axes = figure.subplots()
    # grey levels from 0 to 255 and pixels as they are
    axes.imshow(np.squeeze(canvas), cmap="gray", interpolation="nearest", vmin=0, vmax=255)
    blank(axes)
    axes.set_yticks([row * tall + (height - 1) / 2 for row in range(classes)], image_set.classes)
    tidy(axes)
    axes.tick_params(length=0, labelsize=8)
    if regions:
        _outline_all(axes, image_set, places, canvas.shape[:2])
        legend(figure, region_entries(list(image_set.mask_regions)), len(image_set.mask_regions))
    return figure


def _outline_all(
    axes: Axes, image_set: "ImageSet", places: dict[int, tuple[int, int]], size: tuple[int, int]
) -> None:
    """Outline each region of all faces at once."""
    assert image_set.masks is not None
    for k, name in enumerate(image_set.mask_regions):
        everywhere = np.zeros(size, bool)
        for image, (y, x) in places.items():
            mask = image_set.masks[image, k]
            everywhere[y : y + mask.shape[0], x : x + mask.shape[1]] = mask
        outline(axes, everywhere, REGION_COLOURS[name], linewidth=0.7)
