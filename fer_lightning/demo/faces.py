"""What the page shows of one face, as functions of pictures and checkpoints; no page is needed."""

from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fer_lightning.commands.checkpoints import Checkpoint
from fer_lightning.commands.explain import look, masks_of
from fer_lightning.data import face_finder
from fer_lightning.data.labels import FERPLUS_CLASSES
from fer_lightning.data.readers.pictures import Picture, as_input, resize
from fer_lightning.data.regions import FACE
from fer_lightning.look.controls.hiding import hide
from fer_lightning.look.controls.null_maps import centre_gaussian
from fer_lightning.look.heat import is_zero, to_heat
from fer_lightning.look.methods import find_method
from fer_lightning.look.metrics import local_focus_ratio
from fer_lightning.look.overlay import as_rgb, draw_overlay, for_drawing
from fer_lightning.plots.style import FACE_COLOURS

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Answers = dict[str, dict[str, float]]  # by checkpoint, the probability of each class
SHOWN = 224  # pixels of a face on the page
SIGMA = 1 / 4  # of the centre Gaussian, as a share of the side: 12 pixels of 48
OUTLINED = ("eyes", "eyebrow", "nose", "mouth", "face")


class ShownFace(NamedTuple):
    """A face that was cut out, and where its regions are."""

    square: Pixels  # (S, S) grey or (S, S, 3) RGB, as it was in the picture
    masks: Mask  # (R, SHOWN, SHOWN) in the order of `FACE`
    regions_from: str  # "landmarks" or "template masks"


def cut_faces(picture: Pixels) -> tuple[list[face_finder.Face], list[ShownFace]]:
    """Find the faces of a picture and the regions of each.

    Raises:
        UserError: the face network is needed, is not at hand and cannot be downloaded.
    """
    found = face_finder.find_faces(picture)
    return found, [shown_face(face_finder.cut(picture, face)) for face in found]


def shown_face(square: Pixels) -> ShownFace:
    """Find the regions of a square face: its own where landmarks are known, else the template's.

    >>> shown_face(np.zeros((48, 48), np.uint8)).masks.shape
    (7, 224, 224)
    """
    size = min(len(square), SHOWN)
    seen, shown = as_input(square, 1, size), resize(square, SHOWN)
    side = len(square)
    masks, words = masks_of([Picture("", seen, shown, side, side, (0, 0, side))], "auto")
    assert masks is not None
    large = [
        cv2.resize(m.astype(np.uint8), (SHOWN, SHOWN), interpolation=0) for m in masks[0].numpy()
    ]
    return ShownFace(square, np.stack(large).astype(bool), words[0])


def ask(checkpoints: Sequence[Checkpoint], face: ShownFace, hidden: Mask | None = None) -> Answers:
    """Ask every checkpoint about a face, some of which may be hidden behind its mean grey.

    Args:
        checkpoints: of any classes.
        face: the face.
        hidden: (H, W), which part of the square no model may see.
    """
    found = {}
    for one in checkpoints:
        images = one.images([face.square])
        if hidden is not None:
            images = hide(images, at_size(hidden, images.shape[-1])[None], "mean")
        chances = one.probabilities(images)[0].tolist()
        found[one.name] = dict(zip(one.classes, chances, strict=True))
    return found


def at_size(mask: Mask, side: int) -> Tensor:
    """Bring a mask to (side, side): a pixel is in it if at least half of it is.

    >>> at_size(np.array([[True, True], [True, False]]), 1).tolist()
    [[True]]
    """
    how = cv2.INTER_AREA if side < len(mask) else cv2.INTER_NEAREST
    return torch.from_numpy(
        cv2.resize(mask.astype(np.float32), (side, side), interpolation=how) >= 0.5
    )


def moved(before: dict[str, float], after: dict[str, float]) -> float:
    """How much probability went from some classes to others, 0 to 1.

    >>> round(moved({"sad": 0.8, "happy": 0.2}, {"sad": 0.3, "happy": 0.7}), 6)
    0.5
    """
    return sum(abs(after[name] - p) for name, p in before.items()) / 2


def region_mask(face: ShownFace, name: str) -> Mask:
    """Return the mask of a region by its name in `FACE`, (SHOWN, SHOWN)."""
    return face.masks[FACE.order.index(name)]


def background_patch(face: ShownFace, pixels: int) -> Mask:
    """Cover so many pixels of the background, from the corners of the picture on.

    Where the background is smaller, the edge of the face is covered too.

    >>> face = shown_face(np.zeros((48, 48), np.uint8))
    >>> patch = background_patch(face, 900)
    >>> int(patch.sum()), bool(patch[0, 0]), int((patch & region_mask(face, "face")).sum())
    (900, True, 0)
    """
    inside = region_mask(face, FACE.outside or "face")
    y, x = np.indices(inside.shape)
    last = len(inside) - 1
    corner = np.maximum(np.minimum(y, last - y), np.minimum(x, last - x))
    order = np.lexsort((corner.ravel(), inside.ravel()))  # outside first, then near a corner
    patch = np.zeros(inside.size, bool)
    patch[order[:pixels]] = True
    return patch.reshape(inside.shape)


class Map(NamedTuple):
    """Where a checkpoint looks, by one method."""

    checkpoint: str
    method: str
    target: str  # the class that is explained
    overlay: Pixels  # (SHOWN, SHOWN, 3)
    lfr: dict[str, float]  # by region; NaN of a map without heat
    zero: bool  # nothing speaks for the class


def look_at(checkpoint: Checkpoint, face: ShownFace, method: str, target: str | None = None) -> Map:
    """Make the map of a face and measure it.

    Args:
        checkpoint: whose model looks.
        face: at what.
        method: a name of `list_methods`.
        target: the class to explain; None, or a class that it does not know, for the predicted one.

    Raises:
        UserError: the method needs attention and the model has none.
    """
    known = checkpoint.classes.index(target) if target in checkpoint.classes else None
    cam = look(checkpoint.net, checkpoint.images([face.square]), known, method)
    heat = to_heat(cam.signed, SHOWN).cpu()
    drawn = for_drawing(heat[0], find_method(method).single_pixels)
    shown = resize(face.square, SHOWN)
    picture = shown if shown.ndim == 2 else shown.transpose(2, 0, 1)
    return Map(
        checkpoint.name,
        method,
        checkpoint.classes[int(cam.target[0])],
        draw_overlay(picture, drawn, SHOWN),
        focus(heat, face),
        bool(is_zero(heat)[0]),
    )


def focus(heat: Tensor, face: ShownFace) -> dict[str, float]:
    """Return LFR by region of a map, (1, SHOWN, SHOWN).

    >>> face = shown_face(np.zeros((48, 48), np.uint8))
    >>> sorted({round(v, 5) for v in focus(torch.ones(1, SHOWN, SHOWN), face).values()})
    [1.0]
    """
    rows = [FACE.order.index(name) for name in FACE.rows]
    masks = torch.from_numpy(face.masks[rows])[None]
    return dict(zip(FACE.rows, local_focus_ratio(heat, masks)[0].tolist(), strict=True))


def null_focus(face: ShownFace) -> dict[str, dict[str, float]]:
    """LFR of two maps that know nothing: equal everywhere, and a blob in the middle."""
    blob = centre_gaussian(1, (SHOWN, SHOWN), SIGMA)
    return {
        "uniform": dict.fromkeys(FACE.rows, 1.0),
        "centre Gaussian": focus(blob, face),
    }


def draw_regions(face: ShownFace) -> Pixels:
    """Draw the outlines of a face's regions on it, (SHOWN, SHOWN, 3)."""
    shown = resize(face.square, SHOWN)
    canvas = as_rgb(shown if shown.ndim == 2 else shown.transpose(2, 0, 1)).copy()
    for name in OUTLINED:
        mask = region_mask(face, name).astype(np.uint8)
        lines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        colour = tuple(bytes.fromhex(FACE_COLOURS[name].removeprefix("#")))
        cv2.drawContours(canvas, lines, -1, colour, 1, cv2.LINE_AA)
    return canvas


def draw_hidden(face: ShownFace, hidden: Mask | None) -> Pixels:
    """Draw what the models see, (SHOWN, SHOWN, 3): hidden pixels are the face's mean."""
    shown = resize(face.square, SHOWN)
    canvas = as_rgb(shown if shown.ndim == 2 else shown.transpose(2, 0, 1)).copy()
    if hidden is not None:
        canvas[hidden] = canvas.reshape(-1, 3).mean(0).round().astype(np.uint8)
    return canvas


def cautions(checkpoints: Sequence[Checkpoint]) -> list[str]:
    """Say what is unlike between checkpoints, or unlike faces.

    >>> cautions([])
    []
    """
    lines = []
    if len({one.trained_on for one in checkpoints}) > 1:
        names = "; ".join(f"{one.name}: {one.trained_on}" for one in checkpoints)
        lines.append(
            f"These models were trained on different data, so their answers differ for "
            f"that reason too. {names}."
        )
    for one in checkpoints:
        if not {*one.classes} <= {*FERPLUS_CLASSES}:
            lines.append(
                f"{one.name} knows no expressions but {', '.join(one.classes[:5])[:80]}: "
                "its answers about faces mean nothing."
            )
    drawn = [one.name for one in checkpoints if one.trained_on.startswith("drawn")]
    if drawn:
        lines.append(f"Expect little on photographs: {', '.join(drawn)} saw drawn faces only.")
    return lines
