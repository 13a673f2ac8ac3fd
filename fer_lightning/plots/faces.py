"""A sheet of faces by class, whatever the data set."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from fer_lightning.errors import UserError
from fer_lightning.plots import style

if TYPE_CHECKING:
    from fer_lightning.data.image_set import ImageSet

DRAWN = ("eyes", "eyebrow", "nose", "mouth", "face")  # the other regions are unions of these
NAMES, LARGEST = 0.8, 1.0  # inches for the names of classes; of one image
HEAD, GAP, FOOT = 0.17, 0.04, 0.17  # tiles


def outline(
    axes: Axes,
    mask: NDArray[np.bool_],
    colour: str,
    extent: tuple[float, float, float, float] | None = None,
    linewidth: float = 1.4,
) -> None:
    """Draw a line along the pixel borders of a region, (H, W).

    `extent` is left, right, bottom and top of the face, as imshow's.
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
    """Find the sides of pixels where a region, (H, W), ends.

    Returns (L, 2, 2): the ends of each side as x, y from the upper left corner of the mask.
    """
    padded = np.pad(mask, 1)
    y, x = np.nonzero((padded[1:] != padded[:-1])[:, 1:-1])  # sides above and below
    level = np.stack([np.stack([x, y], 1), np.stack([x + 1, y], 1)], 1)
    y, x = np.nonzero((padded[:, 1:] != padded[:, :-1])[1:-1])  # sides left and right
    upright = np.stack([np.stack([x, y], 1), np.stack([x, y + 1], 1)], 1)
    return np.concatenate([level, upright]).astype(np.float64)


@style.styled
def sheet(
    image_set: "ImageSet", per_class: int = 10, seed: int = 0, regions: bool = False
) -> Figure:
    """Lay out random images, one row per class, below the data set's name and fingerprint.

    Args:
        image_set: any data set, grey or colour.
        per_class: images in a row; a class with fewer leaves blanks.
        seed: of the choice.
        regions: outline the exact regions that the data set knows.

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
    picture_width = min(style.DOUBLE - NAMES, per_class * LARGEST)
    picture_height = picture_width * canvas.shape[0] / canvas.shape[1]
    title = f"{image_set.name} · {image_set.fingerprint}"
    width = max(style.SINGLE, picture_width + NAMES)
    figure = style.new_figure(width, picture_height + 0.1, title, legend_rows=int(regions))
    axes = figure.subplots()
    # grey levels from 0 to 255 and pixels as they are
    axes.imshow(np.squeeze(canvas), cmap="gray", interpolation="nearest", vmin=0, vmax=255)
    style.blank(axes)
    axes.set_yticks([row * tall + (height - 1) / 2 for row in range(classes)], image_set.classes)
    style.tidy(axes)
    axes.tick_params(length=0, labelsize=8)
    if regions:
        _outline_all(axes, image_set, places, canvas.shape[:2])
        style.legend(figure, region_entries(image_set.mask_regions), len(image_set.mask_regions))
    return figure


def region_entries(names: Sequence[str]) -> dict[str, Artist]:
    """A line of its colour for the legend, by region."""
    colours = style.region_colours(names)
    return {name: Line2D([], [], color=colours[name], linewidth=4) for name in names}


def _outline_all(
    axes: Axes, image_set: "ImageSet", places: dict[int, tuple[int, int]], size: tuple[int, int]
) -> None:
    """Outline each region of all faces at once."""
    assert image_set.masks is not None
    colours = style.region_colours(image_set.mask_regions)
    for k, name in enumerate(image_set.mask_regions):
        everywhere = np.zeros(size, bool)
        for image, (y, x) in places.items():
            mask = image_set.masks[image, k]
            everywhere[y : y + mask.shape[0], x : x + mask.shape[1]] = mask
        outline(axes, everywhere, colours[name], linewidth=0.7)


@style.styled
def hero(
    large: NDArray[np.uint8],
    small: NDArray[np.uint8],
    masks: dict[str, NDArray[np.bool_]],
    names: Sequence[str],
) -> Figure:
    """Show faces as drawn, and below them as models see them, their regions outlined.

    This is the picture at the top of the README: a wide strip without a title.

    Args:
        large: (N, S, S) faces in many pixels.
        small: (N, s, s) the same faces in few pixels.
        masks: region name → (N, s, s), exact for each face.
        names: N words above the faces.

    >>> faces, mask = np.zeros((2, 96, 96), np.uint8), np.ones((2, 8, 8), bool)
    >>> figure = hero(faces, faces[:, :8, :8], {"nose": mask}, ("sad", "happy"))
    >>> [text.get_text() for text in figure.axes[0].texts][:2]
    ['sad', 'happy']
    """
    style.check_lengths(names=names, large=large, small=small, **masks)
    step = 1 + GAP
    figure, axes = style.board(style.DOUBLE, len(names) * step - GAP, HEAD + 2 + GAP + FOOT)
    second = HEAD + step
    present = [name for name in DRAWN if name in masks]
    colours = style.region_colours(present)
    for k, name in enumerate(names):
        x = k * step
        axes.text(x + 0.5, HEAD * 0.4, name, fontweight="bold", ha="center", va="center")
        style.place(axes, large[k], x, HEAD)
        style.place(axes, small[k], x, second)
        for region in present:
            frame = (x, x + 1, second + 1, second)
            outline(axes, masks[region][k], colours[region], frame, linewidth=0.9)
    side = small.shape[1]
    words = f"Above: as drawn. Below: {side}x{side} pixels, as models see them, with exact regions"
    axes.text(0, second + 1 + FOOT / 2, words, fontsize=7, va="center")
    entries = region_entries(present)
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


def landmark_sheet(
    groups: Mapping[str, tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.floating]]],
    columns: int = 12,
) -> Figure:
    """Lay out faces with their landmarks and scores, one block per group.

    Args:
        groups: title → pictures (N, C, H, W), points (N, 68, 2) in their pixels, scores (N,).
        columns: faces in a row.
    """
    rows = [max(1, -(-len(score) // columns)) for _, _, score in groups.values()]
    figure = Figure(figsize=(columns * LARGEST, sum(rows) * LARGEST + len(rows) * 0.3))
    blocks = figure.subfigures(len(rows), 1, height_ratios=rows, squeeze=False)[:, 0]
    for block, count, (title, (images, points, scores)) in zip(
        blocks, rows, groups.items(), strict=True
    ):
        block.suptitle(title, fontsize=8)
        tiles = block.subplots(count, columns, squeeze=False).ravel()
        block.subplots_adjust(0.01, 0.01, 0.99, 1 - 0.3 / (count * LARGEST + 0.3), 0.05, 0.05)
        for tile in tiles:
            tile.axis("off")
        for tile, image, some, score in zip(tiles, images, points, scores, strict=False):
            height, width = image.shape[1:]
            tile.imshow(image.transpose(1, 2, 0), cmap="gray", extent=(0, width, height, 0))
            tile.scatter(*some.T, s=0.6, c="tab:cyan", linewidths=0)
            tile.text(1, height - 1, f"{score:.2f}", fontsize=4, color="yellow")
            tile.set(xlim=(0, width), ylim=(height, 0))
    return figure


PAIRS, PAIR_COLUMNS = 60, 6  # on a sheet of near-twins


def pairs_sheet(
    images: NDArray[np.uint8],
    pairs: NDArray[np.int64],
    correlation: NDArray[np.float32],
    mirrored: NDArray[np.bool_],
    seed: int = 0,
) -> Figure:
    """Lay out pairs of near-twins, the least alike first: half of them those, half at random.

    Args:
        images: (N, 1, H, W).
        pairs: (M, 2) rows.
        correlation: (M,) how alike they are.
        mirrored: (M,) whether the second is shown mirrored.
        seed: of the choice.
    """
    order = np.argsort(correlation, kind="stable")
    least, rest = order[: PAIRS // 2], order[PAIRS // 2 :]
    drawn = np.random.default_rng(seed).permutation(rest)[: PAIRS - len(least)]
    chosen = np.concatenate([least, drawn[np.argsort(correlation[drawn], kind="stable")]])
    rows = max(1, -(-len(chosen) // PAIR_COLUMNS))
    figure = Figure(figsize=(2 * PAIR_COLUMNS, 1.25 * rows), layout="constrained")
    axes = figure.subplots(rows, PAIR_COLUMNS, squeeze=False).ravel()
    for axis in axes:
        axis.set_axis_off()
    for axis, place in zip(axes, chosen, strict=False):
        one, other = images[pairs[place], 0]
        both = np.concatenate([one, other[:, ::-1] if mirrored[place] else other], axis=1)
        axis.imshow(both, cmap="gray", vmin=0, vmax=255)
        flipped = ", mirrored" if mirrored[place] else ""
        axis.set_title(f"{correlation[place]:.3f}{flipped}", fontsize=7)
    return figure
