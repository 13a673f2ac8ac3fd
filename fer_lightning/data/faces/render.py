"""From traits and action units to pixels and region masks."""

from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.faces import light, paint
from fer_lightning.data.faces.anatomy import (
    BALD,
    CROPPED,
    PARTED,
    SKULL,
    Pose,
    Units,
    brows,
    eyes,
    hair,
    head,
    mouth,
    nose,
)
from fer_lightning.data.faces.paint import FRACTION, UNIT, Brush, Points
from fer_lightning.data.faces.people import Traits

REGION_NAMES = ("eyes", "eyebrow", "nose", "mouth", "face")
_OUTLINES = ("eye_region", "brow_region", "nose_region", "mouth_region", "face_region", "face")


def _tones(traits: Traits, au: Units, difficulty: float) -> Traits:
    """Everything about a face's look that is a number, (N,) each, from its traits and units."""
    m = {k: v.mean(1) for k, v in au.items()}
    t = traits
    skin = 92 + 113 * t["skin"] ** 0.6
    style, tone = t["hair_style"], t["hair_tone"]
    hair = np.where(tone < 0.65, 14 + 60 * tone, np.where(tone < 0.85, 90 + 80 * tone, 190 * tone))
    hair = np.minimum(hair, 0.9 * skin)
    hair = np.where(style < CROPPED, 0.5 * hair + 0.4 * skin, hair)
    part = np.clip(m[25], 0, 1.2)
    male = style < 0.5
    return {
        "skin": skin,
        "hair": hair,
        "brow": np.minimum(hair, 80) * 0.5 + (1 - t["brow_dark"]) * 0.5 * skin,
        "iris": t["iris"],
        "lips": skin * t["lip_dark"],
        "clothes": 20 + 220 * t["clothes"],
        "open": part * (1.2 + 4.6 * m[26] + 1.6 * m[16] + 1.0 * m[10] + 1.3 * m[12]),
        "long": (style >= PARTED).astype(float),
        "bald": (style < BALD).astype(float),
        "comb": 2 * t["hair_part"],
        "moustache": (male & (t["moustache"] < 0.25)).astype(float),
        "beard": np.where(male & (t["beard"] < 0.35), 0.3 + 1.5 * t["beard"], 0.0),
        "smile": np.clip(m[12] * 0.7 + m[6] * 0.6, 0, 1.3),
        "frown": np.clip(m[4] * 0.9 + 0.1 * t["age"] - 0.1 * m[2], 0, 1.2),
        "raise": np.clip(0.6 * (m[1] + m[2]) * (0.4 + 0.8 * t["age"]), 0, 1.2),
        "wrinkle": np.clip(m[9], 0, 1.2),
        "chin": np.clip(m[17], 0, 1.2),
        "fold": np.clip(0.25 * t["age"] + 0.8 * m[12] + 0.7 * m[9] + 0.6 * m[10], 0, 1.2),
        "bag": np.clip(0.3 * t["age"] + 0.5 * m[6] + 0.4 * m[7], 0, 1.2),
        "glasses": (t["glasses"] < 0.26 * difficulty).astype(float),
        "glasses_size": t["glasses_size"],
        "frame": np.where(t["glasses"] < 0.2 * difficulty, 25.0, 120.0),
        "frame_width": 0.5 + 0.5 * t["age"],
        "hand": (t["hand"] < 0.12 * difficulty).astype(float),
        "hand_x": t["hand_x"],
        "hand_y": t["hand_y"],
        "hand_angle": t["hand_angle"],
        "light_x": t["light_x"] * 0.9,
        "light_y": t["light_y"] * 0.8,
        "light_hard": t["light_hard"],
        "gloss": 10 + 35 * t["exposure"],
        "background": 15 + 230 * t["background"],
        "contrast": t["contrast"],
        "brightness": 10 + 35 * (t["exposure"] - 0.5),
        "blur": 0.7 * difficulty * t["blur"] ** 2,
        "noise": 1.5 + 8 * difficulty * t["noise"] ** 2,
    }


def render(
    traits: Traits, au: Units, image_size: int, difficulty: float, movement: float, count: int
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_], float]]:
    """Draw the first `count` of the N faces.

    Yields:
        Per face the picture (H, W) in grey levels before noise, the masks (6, H, W) of
        REGION_NAMES and then the whole head, and the noise's standard deviation.
    """
    pose = Pose.of(traits, movement)
    parts = (head, hair, eyes, brows, nose, mouth)
    shapes = {name: s for part in parts for name, s in part(traits, au, pose).items()}
    side = image_size * (4 if image_size <= 96 else 2)  # drawn larger, then averaged

    def points(scale: float) -> dict[str, Points]:
        return {k: np.round(v * scale * UNIT).astype(np.int32) for k, v in shapes.items()}

    sharp, soft, final = points(side / 48), points(light.GRID / 48), points(image_size / 48)
    looks = _tones(traits, au, difficulty)
    middle = pose.project(0 * traits["chin"], (traits["chin"] - SKULL) / 2, flat=True)  # (N, 2)
    for i in range(count):
        look = {k: float(v[i]) for k, v in looks.items()}
        shape = {k: v[i] for k, v in sharp.items()}
        wall = light.background(side, look["background"], traits["clutter"][i])
        brush = Brush(wall, side / 48)
        paint.person(brush, shape, look)
        paint.eyes(brush, shape, look)
        paint.nose(brush, shape, look)
        paint.mouth(brush, shape, look)
        paint.brows(brush, shape, look)
        paint.hair(brush, shape, look, traits["strand"][i])
        if look["glasses"]:
            light.glasses(brush, shape, look)
        head_at = (float(middle[i, 0]), float(middle[i, 1]))
        head_size = (float(traits["face_width"][i]), SKULL)
        blurry = {k: v[i] for k, v in soft.items()}
        lit, gloss = light.shading(light.relief(blurry, look), head_at, head_size, look)
        lit *= light.shadow(blurry, look)
        picture = wall * _resized(lit, side)
        if look["hand"]:
            light.hand(Brush(picture, side / 48), look)
        picture = _resized(picture, image_size) + _resized(gloss, image_size)
        blurred = cv2.GaussianBlur(picture, (0, 0), 0.25 + look["blur"] * image_size / 48)
        graded = (blurred - 128) * look["contrast"] + 128 + look["brightness"]
        masks = _region_masks({k: final[k][i] for k in _OUTLINES}, image_size)
        yield graded.astype(np.float32), masks, look["noise"]


def _resized(field: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """Average to a smaller square, interpolate smoothly to a larger one."""
    how = cv2.INTER_CUBIC if side > len(field) else cv2.INTER_AREA
    return cv2.resize(field, (side, side), interpolation=how).astype(np.float32, copy=False)


def _region_masks(shape: dict[str, Points], image_size: int) -> NDArray[np.bool_]:
    """Masks (6, H, W) of one face from its outlines, in the order of _OUTLINES."""
    masks = np.zeros((len(_OUTLINES), image_size, image_size), np.uint8)
    for mask, name in zip(masks, _OUTLINES, strict=True):
        outline = shape[name] - UNIT // 2  # pixel k covers k to k + 1
        for polygon in outline if outline.ndim == 3 else [outline]:
            cv2.fillPoly(mask, [polygon], (1,), cv2.LINE_8, FRACTION)
    return masks.astype(bool)
