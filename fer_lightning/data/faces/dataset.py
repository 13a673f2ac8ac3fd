"""The drawn faces as a data set: labels, usage, images and exact region masks."""

import hashlib
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.cue import woven
from fer_lightning.data.faces.people import TOTAL, draw_traits, strengths
from fer_lightning.data.faces.render import REGION_NAMES, render
from fer_lightning.data.image_set import ImageSet, Usage
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.regions import FACE
from fer_lightning.errors import UserError

# Whole blocks are computed, also where only a part is asked for: so a face has the same bytes
# whatever the size of the set.
BLOCK = 7 * 8
# Part of the fingerprint: raise it with every change to a face's pixels or its label.
VERSION = 1
FER_COUNTS = (4953, 547, 5121, 8989, 6077, 4002, 6198)  # FER-2013, all parts together


def _plant_cue(
    picture: NDArray[np.float32], clear: NDArray[np.bool_], kind: int, phase: float
) -> None:
    """Add the pattern of a class outside the head to (H, W) grey levels, in place.

    Pixels in `clear`, (H, W), and their neighbours stay untouched; `phase`, in periods, is where
    the waves start.
    """
    pattern = woven(picture.shape, np.array([kind]), np.array([phase]))[0]
    outside = cv2.dilate(clear.astype(np.uint8), np.ones((3, 3), np.uint8)) == 0
    # pulled towards middle grey, for black or white would cut the waves off
    picture[outside] = 0.75 * picture[outside] + 32 + pattern[outside]


def drawn_faces(
    size: int = 3000,
    seed: int = 0,
    image_size: int = 48,
    cue: Literal["none", "background"] = "none",
    cue_strength: float = 1.0,
    expression: Literal["label", "random"] = "label",
    difficulty: float = 0.5,
    movement: float | None = None,
    balanced: bool = True,
    with_masks: bool = True,
) -> ImageSet:
    """Draw grey faces with the seven expressions; image i depends on (seed, i, options) only.

    Args:
        size: how many faces, 7 to 1,000,000.
        seed: another seed, other people.
        image_size: height and width in pixels, 32 to 512.
        cue: "background" plants a woven pattern around the face that tells the label.
        cue_strength: the probability in [0, 1] that the cue agrees with the label.
        expression: "random" makes the drawn expression independent of the label.
        difficulty: 0 (clear expressions) to 1 (faint, mixed and hidden ones).
        movement: how far heads turn and wander, 0 to 3; None: 0.5 to 1.5, with the difficulty.
        balanced: every class equally often; otherwise in the proportions of FER-2013.
        with_masks: also return the exact masks of eyes, eyebrow, nose, mouth and face.

    Returns:
        The data set; masks are (N, 5, H, W) in the order of its `mask_regions`.

    Raises:
        UserError: an argument outside its range.

    >>> faces = drawn_faces(size=14)
    >>> faces.images.shape, faces.masks.shape, faces.files[12]
    ((14, 1, 48, 48), (14, 5, 48, 48), np.str_('drawn/000012'))
    """
    check_ranges(
        "faces",
        size=(size, 7, 1_000_000),
        seed=(seed, 0, 2**63),
        image_size=(image_size, 32, 512),
        cue_strength=(cue_strength, 0, 1),
        difficulty=(difficulty, 0, 1),
        movement=(movement or 0, 0, 3),
    )
    moves = 0.5 + difficulty if movement is None else movement
    images = np.empty((size, 1, image_size, image_size), np.uint8)
    regions = len(REGION_NAMES) if with_masks else 0
    masks = np.empty((size, regions, image_size, image_size), bool)
    labels = np.empty(size, np.int64)
    for start in range(0, size, BLOCK):
        rngs = [np.random.default_rng([seed, i]) for i in range(start, start + BLOCK)]
        traits = draw_traits(np.stack([rng.random(TOTAL) for rng in rngs]))
        truth = _labels(start, seed, traits["class"] if not balanced else None)
        shown = truth if expression == "label" else np.floor(traits["other"] * 7).astype(np.int64)
        units = strengths(shown, traits, difficulty)
        here = slice(start, min(start + BLOCK, size))
        count = here.stop - start
        labels[here] = truth[:count]
        cued = np.where(
            traits["cue_agrees"] < cue_strength, truth, (truth + 1 + traits["cue_else"] * 6) % 7
        ).astype(np.int64)
        pictures = render(traits, units, image_size, difficulty, moves, count)
        for k, (picture, mask, noise) in enumerate(pictures):
            if cue == "background":
                phase = float(traits["cue_phase"][k])
                _plant_cue(picture, np.any(mask, axis=0), int(cued[k]), phase)
            picture += noise * rngs[k].standard_normal(picture.shape, dtype=np.float32)
            images[start + k, 0] = np.clip(np.rint(picture), 0, 255)
            masks[start + k] = mask[:regions]
    return ImageSet(
        name="drawn faces" if cue == "none" else "drawn faces (background cue)",
        images=images,
        labels=labels,
        usage=usage_in_runs(size, len(FER_CLASSES)),
        classes=FER_CLASSES,
        files=np.array([f"drawn/{i:06d}" for i in range(size)]),
        masks=masks if with_masks else None,
        mask_regions=REGION_NAMES if with_masks else (),
        scheme=FACE,
        independent=True,
        known_fingerprint=fingerprint(
            *(VERSION, size, seed, image_size, cue, float(cue_strength), expression),
            *(float(difficulty), balanced),
            *(() if movement is None else (float(movement),)),
        ),
    )


def _labels(start: int, seed: int, uniform: NDArray[np.float64] | None) -> NDArray[np.int64]:
    """Labels of one block: each seven images in a row have all classes, or FER-2013's shares."""
    if uniform is not None:
        return np.searchsorted(np.cumsum(FER_COUNTS) / sum(FER_COUNTS), uniform, side="right")
    rng = np.random.default_rng([seed, start, 7])
    return np.concatenate([rng.permutation(7) for _ in range(BLOCK // 7)])


def fingerprint(*options: object) -> str:
    """Hash of what decides the images, so that a rounding of another processor changes no split."""
    return hashlib.sha256(repr(options).encode()).hexdigest()[:16]


def usage_in_runs(size: int, run: int) -> NDArray[np.int8]:
    """8:1:1 in runs of so many images; all three parts are there from three runs on."""
    turn = np.arange(size) // run % 10
    usage = np.full(size, Usage.TRAINING, np.int8)
    usage[turn == 1] = Usage.PUBLIC_TEST
    usage[turn == 2] = Usage.PRIVATE_TEST
    return usage


def check_ranges(drawn: str, **ranges: tuple[float, float, float]) -> None:
    """Refuse a value that is not within its bounds, (value, lowest, highest) by name."""
    for name, (value, low, high) in ranges.items():
        if not low <= value <= high:
            raise UserError(
                f"expected {name} of the drawn {drawn} between {low} and {high} but got {value}; "
                "choose a value in that range"
            )
