"""Faces beside their heat maps, one row a class, right predictions apart from wrong ones."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from fer_lightning.plots.style import (
    DOUBLE,
    EDGE,
    GREY,
    RIGHT,
    SMALL,
    WRONG,
    board,
    check_lengths,
    place,
    styled,
)

Arrange = Literal["right_wrong", "given"]
NAMES, HEAD, LINE = 0.8, 0.22, 0.2  # inches for class names, headings and predictions
PAIR, MIDDLE_GAP = 2.16, 0.3  # tiles: a face and its overlay with a gap; between the halves

HEADINGS = ("✓ right", "✗ wrong")
CAPTION = (
    "Each pair: the image, and the same image under its heat map. Below it the predicted class and "
    "its probability; ✓ right, ✗ wrong."
)


@styled
def gradcam_gallery(
    faces: NDArray[np.uint8],
    overlays: NDArray[np.uint8],
    labels: NDArray[np.integer[Any]],
    predictions: NDArray[np.integer[Any]],
    confidences: NDArray[np.floating[Any]],
    classes: Sequence[str],
    title: str = "",
    per_side: int = 2,
    arrange: Arrange = "right_wrong",
    zero: NDArray[np.bool_] | None = None,
) -> Figure:
    """Show each face and where the model looked at it.

    Args:
        faces: (N, H, W) grey or (N, H, W, 3).
        overlays: (N, S, S, 3) the face with its heat map, contours and boxes.
        labels: (N,) true classes.
        predictions: (N,) predicted classes.
        confidences: (N,) of the prediction, 0 to 1.
        classes: names in label order; each gets a row, also one without images.
        title: model, epoch, data set and its fingerprint.
        per_side: pairs left and right of the middle.
        arrange: "right_wrong" puts the first right predictions of a class on the left and the first
            wrong ones on the right; "given" keeps the order of the arrays, so that the same
            face stands at the same place in each epoch.
        zero: (N,) which maps have no heat at all; it is said below them.

    Returns:
        A figure as wide as two columns.

    Raises:
        UserError: arrays of different length.

    >>> faces, overlays = np.zeros((2, 48, 48), np.uint8), np.zeros((2, 96, 96, 3), np.uint8)
    >>> answers = np.array([0, 0]), np.array([0, 1]), np.array([0.9, 0.6])
    >>> figure = gradcam_gallery(faces, overlays, *answers, ("happy", "sad"), per_side=1)
    >>> [text.get_text() for text in figure.axes[0].texts if "%" in text.get_text()]
    ['✓ happy 90 %', '✗ sad 60 %']
    """
    check_lengths(
        labels=labels,
        faces=faces,
        overlays=overlays,
        predictions=predictions,
        confidences=confidences,
    )
    half = per_side * PAIR
    tile = (DOUBLE - 2 * EDGE - NAMES) / (2 * half + MIDDLE_GAP)  # inches
    left, head, row_height = NAMES / tile, HEAD / tile, 1 + LINE / tile
    columns = left + 2 * half + MIDDLE_GAP
    figure, axes = board(DOUBLE, columns, head + row_height * len(classes), title, CAPTION)
    starts = (left, left + half + MIDDLE_GAP)
    if arrange == "right_wrong":
        for start, word, colour in zip(starts, HEADINGS, (RIGHT, WRONG), strict=True):
            axes.text(start, head / 2, word, color=colour, fontweight="bold", va="center")
    for row, name in enumerate(classes):
        top = head + row * row_height
        members = np.flatnonzero(labels == row)
        right = predictions[members] == row
        axes.text(0, top + 0.4, name, fontweight="bold", va="center")
        axes.text(0, top + 0.68, _score(right), fontsize=SMALL, color=GREY, va="center")
        if arrange == "right_wrong":
            shown = members[right][:per_side], members[~right][:per_side]
        else:
            shown = members[:per_side], members[per_side : 2 * per_side]
        for start, word, chosen in zip(starts, ("right", "wrong"), shown, strict=True):
            for place_in_half, k in enumerate(chosen):
                x = start + place_in_half * PAIR
                place(axes, faces[k], x, top)
                place(axes, overlays[k], x + 1, top)
                _answer(
                    axes,
                    x,
                    top,
                    classes[predictions[k]],
                    confidences[k],
                    bool(labels[k] == predictions[k]),
                    zero is not None and bool(zero[k]),
                )
            if not len(chosen) and arrange == "right_wrong" and len(members):
                text = f"no {word} prediction\namong {len(members)} images"
                axes.text(
                    start, top + 0.5, text, fontsize=SMALL, color=GREY, style="italic", va="center"
                )
    return figure


def _score(right: NDArray[np.bool_]) -> str:
    """How many images of a class are given, and how many of them are right."""
    return f"{right.sum()} of {len(right)} right" if len(right) else "no images"


def _answer(
    axes: Axes, x: float, top: float, name: str, confidence: float, right: bool, zero: bool
) -> None:
    """Frame a pair and write the prediction below it."""
    colour = RIGHT if right else WRONG
    frame = Rectangle((x, top), 2, 1, fill=False, edgecolor=colour, linewidth=1.0 if right else 1.6)
    axes.add_patch(frame)
    words = f"{'✓' if right else '✗'} {name} {100 * confidence:.0f} %{', no heat' if zero else ''}"
    axes.text(x, top + 1.05, words, fontsize=SMALL, color=colour, va="top")
