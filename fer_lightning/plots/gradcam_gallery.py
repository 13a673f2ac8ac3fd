"""Faces beside their heat maps: of one model by class, or the same faces for several models."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import cv2
import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from fer_lightning.plots import style

Arrange = Literal["right_wrong", "given"]
NAMES, HEAD, LINE = 0.8, 0.22, 0.2  # inches for class names, headings and predictions
PAIR, MIDDLE_GAP = 2.16, 0.3  # tiles: a face and its overlay with a gap; between the halves

HEADINGS = ("✓ right", "✗ wrong")
CAPTION = (
    "Each pair: the image, and the same image under its heat map. Below it the predicted class and "
    "its probability; ✓ right, ✗ wrong."
)
INFERNO = mpl.colormaps["inferno"]
OPACITY = 0.6  # of the hottest place
SIDE = 96  # pixels of a drawn tile
SAME_LINE, SAME_HEAD, TILE_GAP = 0.17, 0.2, 0.06  # inches for answers and headings; tiles
SAME_CAPTION = (
    "The same test images for every model, chosen by their place in the probe set, not by their "
    "looks. Colours: heat of Grad-CAM for the predicted class, the lighter the hotter, each map "
    "divided by its own maximum. ✓ right, ✗ wrong; below it the answer and its probability."
)


@style.styled
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

    >>> faces, overlays = np.zeros((2, 48, 48), np.uint8), np.zeros((2, 96, 96, 3), np.uint8)
    >>> answers = np.array([0, 0]), np.array([0, 1]), np.array([0.9, 0.6])
    >>> figure = gradcam_gallery(faces, overlays, *answers, ("happy", "sad"), per_side=1)
    >>> [text.get_text() for text in figure.axes[0].texts if "%" in text.get_text()]
    ['✓ happy 90 %', '✗ sad 60 %']
    """
    style.check_lengths(labels=labels, faces=faces, overlays=overlays)
    style.check_lengths(labels=labels, predictions=predictions, confidences=confidences)
    half = per_side * PAIR
    tile = (style.DOUBLE - 2 * style.EDGE - NAMES) / (2 * half + MIDDLE_GAP)  # inches
    left, head, row_height = NAMES / tile, HEAD / tile, 1 + LINE / tile
    columns = left + 2 * half + MIDDLE_GAP
    figure, axes = style.board(
        style.DOUBLE, columns, head + row_height * len(classes), title, CAPTION
    )
    starts = (left, left + half + MIDDLE_GAP)
    if arrange == "right_wrong":
        for start, word, colour in zip(starts, HEADINGS, (style.RIGHT, style.WRONG), strict=True):
            axes.text(start, head / 2, word, color=colour, fontweight="bold", va="center")
    small: dict[str, Any] = {"fontsize": style.SMALL, "color": style.GREY, "va": "center"}
    for row, name in enumerate(classes):
        top = head + row * row_height
        members = np.flatnonzero(labels == row)
        right = predictions[members] == row
        axes.text(0, top + 0.4, name, fontweight="bold", va="center")
        score = f"{right.sum()} of {len(right)} right" if len(right) else "no images"
        axes.text(0, top + 0.68, score, **small)
        if arrange == "right_wrong":
            shown = members[right][:per_side], members[~right][:per_side]
        else:
            shown = members[:per_side], members[per_side : 2 * per_side]
        for start, word, chosen in zip(starts, ("right", "wrong"), shown, strict=True):
            for place_in_half, k in enumerate(chosen):
                x = start + place_in_half * PAIR
                style.place(axes, faces[k], x, top)
                style.place(axes, overlays[k], x + 1, top)
                answer = f"{classes[predictions[k]]} {100 * confidences[k]:.0f} %"
                answer += ", no heat" if zero is not None and zero[k] else ""
                is_right = bool(labels[k] == predictions[k])
                _answer(axes, x, top, answer, is_right, 2, 1.0 if is_right else 1.6, style.SMALL)
            if not len(chosen) and arrange == "right_wrong" and len(members):
                text = f"no {word} prediction\namong {len(members)} images"
                axes.text(start, top + 0.5, text, style="italic", **small)
    return figure


def _answer(
    axes: Axes,
    x: float,
    top: float,
    answer: str,
    right: bool,
    tiles: int,
    linewidth: float,
    size: float,
) -> None:
    """Frame some tiles and write the prediction below them."""
    colour = style.RIGHT if right else style.WRONG
    frame = Rectangle((x, top), tiles, 1, fill=False, edgecolor=colour, linewidth=linewidth)
    axes.add_patch(frame)
    words = f"{'✓' if right else '✗'} {answer}"
    axes.text(x, top + 1.01 + 0.02 * tiles, words, fontsize=size, color=colour, va="top")


class Looked(NamedTuple):
    """What one model did with the faces; place i of each array belongs to face i."""

    heat: NDArray[np.floating[Any]]  # (N, h, w) from 0 to 1
    predicted: NDArray[np.integer[Any]]  # (N,)
    confidence: NDArray[np.floating[Any]]  # (N,)


@style.styled
def same_faces(
    faces: NDArray[np.uint8],
    labels: NDArray[np.integer[Any]],
    models: Mapping[str, Looked],
    classes: Sequence[str],
    title: str = "",
) -> Figure:
    """Show the same faces under the heat of several models: one row per face, one column per model.

    Args:
        faces: (N, H, W) grey or (N, H, W, 3).
        labels: (N,) true classes.
        models: name → its maps and answers.
        classes: names in label order.
        title: data set and its fingerprint.

    >>> looked = Looked(np.zeros((1, 6, 6)), np.array([1]), np.array([0.7]))
    >>> names = ("sad", "happy")
    >>> figure = same_faces(np.zeros((1, 48, 48), np.uint8), np.array([0]), {"vit": looked}, names)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['face', 'vit', 'sad', '✗ happy 70 %, no heat']
    """
    for name, looked in models.items():
        style.check_lengths(faces=faces, labels=labels, **{f"maps of {name}": looked.heat})
    step = 1 + TILE_GAP
    group = (1 + len(models)) * step  # tiles of a face and its overlays
    groups = max(1, int(8 * step // group))
    lines = -(-len(faces) // groups)
    columns = groups * group + (groups - 1) * 0.25 - TILE_GAP + 0.02  # room for the last frame
    tile = (style.DOUBLE - 2 * style.EDGE) / columns  # inches
    head, high = SAME_HEAD / tile, 1 + SAME_LINE / tile
    figure, axes = style.board(style.DOUBLE, columns, head + high * lines, title, SAME_CAPTION)
    for column in range(min(groups, len(faces))):
        for k, word in enumerate(("face", *models)):
            x = column * (group + 0.25) + k * step
            axes.text(x, head * 0.75, word, fontsize=7, fontweight="bold")
    for i, face in enumerate(faces):
        left, top = i % groups * (group + 0.25), head + i // groups * high
        style.place(axes, face, left, top)
        axes.text(left, top + 1.03, classes[labels[i]], fontsize=style.SMALL, va="top")
        for k, looked in enumerate(models.values(), start=1):
            x, answer = left + k * step, int(looked.predicted[i])
            style.place(axes, overlay(face, looked.heat[i]), x, top)
            none = "" if looked.heat[i].max() > 0 else ", no heat"
            words = f"{classes[answer]} {100 * looked.confidence[i]:.0f} %{none}"
            size = style.SMALL if len(words) < 15 else 5.5
            _answer(axes, x, top, words, bool(answer == labels[i]), 1, 1.0, size)
    return figure


def overlay(face: NDArray[np.uint8], heat: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    """Lay heat, (h, w) from 0 to 1, over a face, the more opaque the hotter; (96, 96, 3)."""
    picture = cv2.resize(face, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
    picture = picture if picture.ndim == 3 else np.repeat(picture[..., None], 3, axis=2)
    scaled = cv2.resize(heat.astype(np.float32), (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
    weight = OPACITY * np.clip(scaled, 0, 1)[..., None]
    return (picture * (1 - weight) + 255 * INFERNO(scaled)[..., :3] * weight).astype(np.uint8)
