"""The same faces under the heat of several models: one row a face, one column a model."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import cv2
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from fer_lightning.plots.style import (
    DOUBLE,
    EDGE,
    RIGHT,
    SMALL,
    WRONG,
    board,
    check_lengths,
    place,
    styled,
)

INFERNO = mpl.colormaps["inferno"]
OPACITY = 0.6  # of the hottest place
SIDE = 96  # pixels of a drawn tile
LINE, HEAD, GAP = 0.17, 0.2, 0.06  # inches for answers and headings; between tiles, in tiles
CAPTION = (
    "The same test images for every model, chosen by their place in the probe set, not by their "
    "looks. Colours: heat of Grad-CAM for the predicted class, the lighter the hotter, each map "
    "divided by its own maximum. ✓ right, ✗ wrong; below it the answer and its probability."
)


class Looked(NamedTuple):
    """What one model did with the faces; place i of each array belongs to face i."""

    heat: NDArray[np.floating[Any]]  # (N, h, w) from 0 to 1
    predicted: NDArray[np.integer[Any]]  # (N,)
    confidence: NDArray[np.floating[Any]]  # (N,)


@styled
def same_faces(
    faces: NDArray[np.uint8],
    labels: NDArray[np.integer[Any]],
    models: Mapping[str, Looked],
    classes: Sequence[str],
    title: str = "",
) -> Figure:
    """Show faces beside what each model looked at.

    Args:
        faces: (N, H, W) grey or (N, H, W, 3).
        labels: (N,) true classes.
        models: name → its maps and answers.
        classes: names in label order.
        title: data set and its fingerprint.

    Returns:
        A figure as wide as two columns, with two faces in a row where they fit.

    Raises:
        UserError: arrays of different length.

    >>> looked = Looked(np.zeros((1, 6, 6)), np.array([1]), np.array([0.7]))
    >>> names = ("sad", "happy")
    >>> figure = same_faces(np.zeros((1, 48, 48), np.uint8), np.array([0]), {"vit": looked}, names)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['face', 'vit', 'sad', '✗ happy 70 %, no heat']
    """
    for name, looked in models.items():
        check_lengths(faces=faces, labels=labels, **{f"maps of {name}": looked.heat})
    step = 1 + GAP
    group = (1 + len(models)) * step  # tiles of a face and its overlays
    groups = max(1, int(8 * step // group))
    lines = -(-len(faces) // groups)
    columns = groups * group + (groups - 1) * 0.25 - GAP + 0.02  # room for the last frame
    tile = (DOUBLE - 2 * EDGE) / columns  # inches
    head, high = HEAD / tile, 1 + LINE / tile
    figure, axes = board(DOUBLE, columns, head + high * lines, title, CAPTION)
    for column in range(min(groups, len(faces))):
        for k, word in enumerate(("face", *models)):
            x = column * (group + 0.25) + k * step
            axes.text(x, head * 0.75, word, fontsize=7, fontweight="bold")
    for i, face in enumerate(faces):
        left, top = i % groups * (group + 0.25), head + i // groups * high
        place(axes, face, left, top)
        axes.text(left, top + 1.03, classes[labels[i]], fontsize=SMALL, va="top")
        for k, looked in enumerate(models.values(), start=1):
            x, answer = left + k * step, int(looked.predicted[i])
            place(axes, overlay(face, looked.heat[i]), x, top)
            right = answer == labels[i]
            colour = RIGHT if right else WRONG
            axes.add_patch(Rectangle((x, top), 1, 1, fill=False, edgecolor=colour, linewidth=1))
            none = "" if looked.heat[i].max() > 0 else ", no heat"
            words = f"{classes[answer]} {100 * looked.confidence[i]:.0f} %{none}"
            axes.text(
                x,
                top + 1.03,
                f"{'✓' if right else '✗'} {words}",
                fontsize=SMALL if len(words) < 15 else 5.5,
                color=colour,
                va="top",
            )
    return figure


def overlay(face: NDArray[np.uint8], heat: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    """Lay heat over a face, the more opaque the hotter; without heat the face stays as it is.

    Args:
        face: (H, W) or (H, W, 3).
        heat: (h, w) from 0 to 1, of any size.

    Returns:
        (96, 96, 3).
    """
    picture = cv2.resize(face, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
    picture = picture if picture.ndim == 3 else np.repeat(picture[..., None], 3, axis=2)
    scaled = cv2.resize(heat.astype(np.float32), (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
    weight = OPACITY * np.clip(scaled, 0, 1)[..., None]
    return (picture * (1 - weight) + 255 * INFERNO(scaled)[..., :3] * weight).astype(np.uint8)
