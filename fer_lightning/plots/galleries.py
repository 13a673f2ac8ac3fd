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

from fer_lightning.data.labels import MOST_NAMED
from fer_lightning.plots import style
from fer_lightning.plots.faces import outline, region_entries
from fer_lightning.plots.style import (
    DOUBLE,
    EDGE,
    GREY,
    SMALL,
    blank,
    board,
    check_lengths,
    legend,
    new_figure,
    place,
    region_colours,
    styled,
    wrapped,
)

Arrange = Literal["right_wrong", "given"]
NAMES, HEAD, LINE = 0.8, 0.22, 0.2  # inches for class names, headings and predictions
METHOD_LINE = 0.09  # inches for a line of a method's name
GROUP_GAP, MIDDLE_GAP = 0.16, 0.3  # tiles: between a face's tiles and the next; the halves

HEADINGS = ("✓ right", "✗ wrong")
CAPTION = (
    "Each group: the image, and the same image under its heat map{by}. Below it the predicted "
    "class and its probability; ✓ right, ✗ wrong."
)
SIGNED = (
    " ±: nothing in this map speaks for the class, so the map is shown with its sign, blue against "
    "the class, red for it."
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
    methods: Sequence[str] = (),
    signed: NDArray[np.bool_] | None = None,
) -> Figure:
    """Show each face and where the model looked at it, by one method or several side by side.

    Args:
        faces: (N, H, W) grey or (N, H, W, 3).
        overlays: (N, S, S, 3) the face with its heat map, contours and boxes, or (N, M, S, S, 3)
            by M methods.
        labels: (N,) true classes.
        predictions: (N,) predicted classes.
        confidences: (N,) of the prediction, 0 to 1.
        classes: names in label order; each gets a row, also one without images. Of more than
            `MOST_NAMED` classes the first that have images get one.
        title: model, epoch, data set and its fingerprint.
        per_side: pairs left and right of the middle.
        arrange: "right_wrong" puts the first right predictions of a class on the left and the first
            wrong ones on the right; "given" keeps the order of the arrays, so that the same
            face stands at the same place in each epoch.
        zero: (N,) or (N, M) which maps are zero everywhere; it is said below them.
        methods: titles of the M methods.
        signed: (N, M) which maps are drawn with their sign, because nothing speaks for the class.

    >>> faces, overlays = np.zeros((2, 48, 48), np.uint8), np.zeros((2, 96, 96, 3), np.uint8)
    >>> answers = np.array([0, 0]), np.array([0, 1]), np.array([0.9, 0.6])
    >>> figure = gradcam_gallery(faces, overlays, *answers, ("happy", "sad"), per_side=1)
    >>> [text.get_text() for text in figure.axes[0].texts if "%" in text.get_text()]
    ['✓ happy 90 %', '✗ sad 60 %']
    """
    style.check_lengths(labels=labels, faces=faces, overlays=overlays)
    style.check_lengths(labels=labels, predictions=predictions, confidences=confidences)
    overlays = overlays[:, None] if overlays.ndim == 4 else overlays
    M = overlays.shape[1]
    group = 1 + M + GROUP_GAP
    half = per_side * group
    tile = (style.DOUBLE - 2 * style.EDGE - NAMES) / (2 * half + MIDDLE_GAP)  # inches
    named = [name.replace(" ", "\n") for name in methods] if M > 1 else []
    lines = max((name.count("\n") + 1 for name in named), default=0)
    titles, row_height = HEAD / tile, 1 + LINE / tile
    left, head = NAMES / tile, titles * (arrange == "right_wrong" or not named)
    head += lines * METHOD_LINE / tile
    columns = left + 2 * half + MIDDLE_GAP
    by = f" by {', '.join(methods)}, from left to right" if named else ""
    caption = CAPTION.format(by=by) + (SIGNED if signed is not None and signed.any() else "")
    shown_classes = list(range(len(classes)))
    if len(classes) > MOST_NAMED:
        shown_classes = np.unique(labels)[:MOST_NAMED].tolist() or [0]
        caption += f" {len(shown_classes)} of {len(classes):,} classes: the first with images."
    figure, axes = style.board(
        style.DOUBLE, columns, head + row_height * len(shown_classes), title, caption
    )
    starts = (left, left + half + MIDDLE_GAP)
    if arrange == "right_wrong":
        for start, word, colour in zip(starts, HEADINGS, (style.RIGHT, style.WRONG), strict=True):
            axes.text(start, titles / 2, word, color=colour, fontweight="bold", va="center")
    small: dict[str, Any] = {"fontsize": style.SMALL, "color": style.GREY, "va": "center"}
    for x in (start + i * group for start in starts for i in range(per_side)):
        for m, word in enumerate(named, start=1):
            place_of: dict[str, Any] = {"ha": "center", "va": "bottom", "linespacing": 1.0}
            axes.text(x + m + 0.5, head - 0.03, word, fontsize=5.5, color=style.GREY, **place_of)
    for row, label in enumerate(shown_classes):
        top = head + row * row_height
        members = np.flatnonzero(labels == label)
        right = predictions[members] == label
        axes.text(0, top + 0.4, classes[label], fontweight="bold", va="center")
        score = f"{right.sum()} of {len(right)} right" if len(right) else "no images"
        axes.text(0, top + 0.68, score, **small)
        if arrange == "right_wrong":
            shown = members[right][:per_side], members[~right][:per_side]
        else:
            shown = members[:per_side], members[per_side : 2 * per_side]
        for start, word, chosen in zip(starts, ("right", "wrong"), shown, strict=True):
            for place_in_half, k in enumerate(chosen):
                x = start + place_in_half * group
                style.place(axes, faces[k], x, top)
                for m, one in enumerate(overlays[k], start=1):
                    style.place(axes, one, x + m, top)
                    if signed is not None and signed[k, m - 1]:
                        axes.text(x + m + 0.06, top + 0.17, "±", color="white", fontsize=7)
                answer = f"{classes[predictions[k]]} {100 * confidences[k]:.0f} %"
                answer += _no_heat(zero, k, methods)
                is_right = bool(labels[k] == predictions[k])
                width = 1.0 if is_right else 1.6
                _answer(axes, x, top, answer, is_right, 1 + M, width, style.SMALL)
            if not len(chosen) and arrange == "right_wrong" and len(members):
                text = f"no {word} prediction\namong {len(members)} images"
                axes.text(start, top + 0.5, text, style="italic", **small)
    return figure


def _no_heat(zero: NDArray[np.bool_] | None, k: int, methods: Sequence[str]) -> str:
    """Say by which methods image k has a map without any heat.

    >>> _no_heat(np.array([[True, False]]), 0, ["Grad-CAM", "Gradient"])
    ', no heat by Grad-CAM'
    """
    empty = np.atleast_1d(zero[k]) if zero is not None else np.zeros(1, bool)
    if not empty.any():
        return ""
    names = [name for name, none in zip(methods, empty, strict=False) if none]
    return f", no heat by {', '.join(names)}" if len(methods) > 1 else ", no heat"


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


# --- The training images that counted most and least under adaptive weighting


ACROSS = 8  # faces in a row
WEIGHT_HEAD, TEXT, WEIGHT_GAP = (
    0.3,
    0.42,
    0.06,
)  # in tiles: a heading, the lines below a face, between faces


class Faces(NamedTuple):
    """Images in the order in which they are shown."""

    faces: NDArray[np.uint8]  # (N, H, W) grey or (N, H, W, 3)
    labels: NDArray[np.integer[Any]]  # (N,)
    weights: NDArray[np.floating[Any]]  # (N,) 1 is an image's equal share
    losses: NDArray[np.floating[Any]]  # (N,)


@styled
def weighting_figure(
    most: Faces, least: Faces, classes: Sequence[str], title: str = "", caption: str = ""
) -> Figure:
    r"""Show two groups of faces, each with its class, weight and loss below it.

    Args:
        most: the images with the largest weights.
        least: those with the smallest.
        classes: names in label order.
        title: model, epoch, data set and its fingerprint.
        caption: what the numbers are.

    >>> face = Faces(np.zeros((1, 8, 8), np.uint8), np.array([1]), np.array([2.5]), np.array([0.1]))
    >>> figure = weighting_figure(face, face, ("happy", "sad"))
    >>> [text.get_text() for text in figure.axes[0].texts][:2]
    ['Most weighted', 'sad\nx 2.50, loss 0.10']
    """
    for group in (most, least):
        check_lengths(**group._asdict())
    rows = [-(-len(group.faces) // ACROSS) for group in (most, least)]
    height = sum(rows) * (1 + TEXT) + 2 * WEIGHT_HEAD
    figure, axes = board(DOUBLE, ACROSS * (1 + WEIGHT_GAP), height, title, caption)
    top = 0.0
    for heading, group, count in zip(
        ("Most weighted", "Least weighted"), (most, least), rows, strict=True
    ):
        axes.text(0, top + WEIGHT_HEAD / 2, heading, fontweight="bold", va="center")
        top += WEIGHT_HEAD
        for k, (face, label, weight, loss) in enumerate(zip(*group, strict=True)):
            left, down = k % ACROSS * (1 + WEIGHT_GAP), top + k // ACROSS * (1 + TEXT)
            place(axes, face, left, down)
            words = f"{classes[label]}\nx {weight:.2f}, loss {loss:.2f}"
            axes.text(left, down + 1.04, words, fontsize=SMALL, color=GREY, va="top")
        top += count * (1 + TEXT)
    return figure


# --- Which patches of a face a model keeps, stage by stage


CIVIDIS = mpl.colormaps["cividis"]
KEPT_HEAD, KEPT_LINE = 0.34, 0.17  # inches for headings of two lines and for names
KEPT_GAP = 0.06  # between tiles, in tiles
DIM = 0.2  # what is left of the contrast of a dropped patch
VEIL = np.array([190, 211, 235], np.float32)  # pale blue, unlike any grey of a bright face
KEPT_CAPTION = (
    "Patches under the blue veil were dropped: nothing that follows computes them. {last}"
    "Stages from left to right; layers count from 1."
)
SHARES = (
    "Last row: how often each place is kept among {n} images, from never (dark) to always "
    "(bright). "
)


@styled
def kept_tokens_figure(
    faces: NDArray[np.uint8],
    stages: Mapping[str, NDArray[np.bool_]],
    names: Sequence[str] | None = None,
    title: str = "",
    everywhere: Mapping[str, NDArray[np.bool_]] | None = None,
) -> Figure:
    r"""Show which patches are left after each stage that drops some.

    Args:
        faces: (N, H, W) grey or (N, H, W, 3); four to eight read well.
        stages: by the name of a stage, (N, h, w): the patches that are left.
        names: N words below the faces, such as the class.
        title: model, epoch, data set and its fingerprint.
        everywhere: the same of many images, (M, h, w), for the last row.

    >>> figure = kept_tokens_figure(
    ...     np.zeros((1, 8, 8), np.uint8), {"patch pooling": np.eye(4, dtype=bool)[None]}
    ... )
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['image', 'patch pooling\n4 of 16']
    """
    given = {"faces": faces, **stages} | ({} if names is None else {"names": names})
    check_lengths(**given)
    step = 1 + KEPT_GAP
    columns = max(5, 1 + len(stages)) * step - KEPT_GAP
    tile = (DOUBLE - 2 * EDGE) / columns  # inches
    head = KEPT_HEAD / tile
    row_height = 1 + (KEPT_LINE / tile if names is not None else KEPT_GAP)
    rows = len(faces) + (everywhere is not None)
    last = "" if everywhere is None else SHARES.format(n=len(next(iter(everywhere.values()), [])))
    caption = KEPT_CAPTION.format(last=last)
    figure, axes = board(DOUBLE, columns, head + row_height * rows, title, caption)
    axes.text(0, head * 0.8, "image", fontsize=7, fontweight="bold")
    for column, (stage, masks) in enumerate(stages.items(), start=1):
        left = f"{masks[0].sum()} of {masks[0].size}"
        axes.text(column * step, head * 0.8, f"{stage}\n{left}", fontsize=7, fontweight="bold")
    for row, face in enumerate(faces):
        top = head + row * row_height
        place(axes, face, 0, top)
        if names is not None:
            axes.text(0, top + 1.03, names[row], fontsize=SMALL, va="top")
        for column, masks in enumerate(stages.values(), start=1):
            place(axes, dimmed(face, masks[row]), column * step, top)
    if everywhere is not None:
        top = head + len(faces) * row_height
        axes.text(0, top + 0.5, "how often kept", fontsize=SMALL, color=GREY, va="center")
        for column, masks in enumerate(everywhere.values(), start=1):
            share = masks.mean(0)  # h, w
            colours = (255 * CIVIDIS(share)[..., :3]).astype(np.uint8)
            place(axes, colours, column * step, top)
    return figure


def dimmed(face: NDArray[np.uint8], kept: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Fade the patches of a face that were not kept, (h, w), towards a pale blue.

    The picture is at least 96 pixels high, so that borders of patches are sharp.
    """
    face = face if face.ndim == 3 else np.repeat(face[..., None], 3, axis=2)
    times = -(-96 // len(face))
    size = (face.shape[1] * times, face.shape[0] * times)
    large = cv2.resize(face, size, interpolation=cv2.INTER_NEAREST).astype(np.float32)
    mask = cv2.resize(kept.astype(np.float32), size, interpolation=cv2.INTER_NEAREST)
    return np.where(mask[..., None] > 0, large, VEIL + DIM * (large - VEIL)).astype(np.uint8)


# --- One picture beside its maps by several methods, with the regions outlined


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
