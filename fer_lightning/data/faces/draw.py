"""From traits and action units to pixels and region masks."""

from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.faces import features, light, nose_mouth, paint, scene
from fer_lightning.data.faces import hair as hairs
from fer_lightning.data.faces.head import SKULL, head
from fer_lightning.data.faces.people import Traits
from fer_lightning.data.faces.pose import Pose

REGION_NAMES = ("eyes", "eyebrow", "nose", "mouth", "face")
_OUTLINES = ("eye_region", "brow_region", "nose_region", "mouth_region", "face")


def tones(traits: Traits, au: dict[int, NDArray[np.float64]], difficulty: float) -> Traits:
    """Everything about a face's look that is a number, (N,) each, from its traits and units."""
    m = {k: v.mean(1) for k, v in au.items()}
    t = traits
    skin = 92 + 113 * t["skin"] ** 0.6
    style, tone = t["hair_style"], t["hair_tone"]
    hair = np.where(tone < 0.65, 14 + 60 * tone, np.where(tone < 0.85, 90 + 80 * tone, 190 * tone))
    hair = np.minimum(hair, 0.9 * skin)
    hair = np.where(style < hairs.CROPPED, 0.5 * hair + 0.4 * skin, hair)
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
        "long": (style >= hairs.PARTED).astype(float),
        "bald": (style < hairs.BALD).astype(float),
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
    traits: Traits,
    au: dict[int, NDArray[np.float64]],
    image_size: int,
    difficulty: float,
    count: int,
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_], float]]:
    """Draw the first `count` of the N faces.

    Yields:
        Per face the picture (H, W) in grey levels before noise, the masks (5, H, W) in the order
        of REGION_NAMES, and the standard deviation of the noise to add.
    """
    pose = Pose.of(traits, difficulty)
    shapes = {
        **head(traits, au, pose),
        **hairs.hair(traits, au, pose),
        **features.eyes(traits, au, pose),
        **features.brows(traits, au, pose),
        **nose_mouth.nose(traits, au, pose),
        **nose_mouth.mouth(traits, au, pose),
    }
    side = image_size * (4 if image_size <= 96 else 2)

    def fixed(scale: float) -> dict[str, paint.Points]:
        return {k: np.round(v * scale * paint.UNIT).astype(np.int32) for k, v in shapes.items()}

    high_points, low_points, out_points = (
        fixed(side / 48),
        fixed(light.GRID / 48),
        fixed(image_size / 48),
    )
    looks = tones(traits, au, difficulty)
    zeros = np.zeros(len(traits["chin"]))
    middle = pose.project(zeros, zeros + (traits["chin"] - SKULL) / 2, flat=True)
    for i in range(count):
        look = {k: float(v[i]) for k, v in looks.items()}
        shape = {k: v[i] for k, v in high_points.items()}
        brush = paint.Brush(
            scene.background(side, look["background"], traits["clutter"][i]), side / 48
        )
        paint.person(brush, shape, look)
        paint.eyes(brush, shape, look)
        paint.nose(brush, shape, look)
        paint.mouth(brush, shape, look)
        paint.brows(brush, shape, look)
        paint.hair(brush, shape, look, traits["strand"][i])
        if look["glasses"]:
            scene.glasses(brush, shape, look)
        small = {k: v[i] for k, v in low_points.items()}
        head_size = (float(traits["face_width"][i]), SKULL)
        lit, gloss = light.shading(
            light.relief(small, look),
            (float(middle[i, 0]), float(middle[i, 1])),
            head_size,
            look,
        )
        lit *= light.shadow(small, look)
        soft = cv2.INTER_CUBIC if side > light.GRID else cv2.INTER_AREA
        picture = cv2.multiply(
            brush.canvas, cv2.resize(lit, (side, side), interpolation=soft), dtype=cv2.CV_32F
        )
        if look["hand"]:
            scene.hand(paint.Brush(picture, side / 48), look)
        picture = cv2.resize(picture, (image_size, image_size), interpolation=cv2.INTER_AREA)
        soft = cv2.INTER_CUBIC if image_size > light.GRID else cv2.INTER_AREA
        picture += cv2.resize(gloss, (image_size, image_size), interpolation=soft)
        picture = cv2.GaussianBlur(picture, (0, 0), 0.25 + look["blur"] * image_size / 48)
        picture = (picture - 128) * look["contrast"] + 128 + look["brightness"]
        yield (
            picture,
            region_masks({k: out_points[k][i] for k in _OUTLINES}, image_size),
            look["noise"],
        )


def region_masks(shape: dict[str, paint.Points], image_size: int) -> NDArray[np.bool_]:
    """Masks (5, H, W) of one face from its outlines."""
    masks = np.zeros((len(_OUTLINES), image_size, image_size), np.uint8)
    for mask, name in zip(masks, _OUTLINES, strict=True):
        outline = shape[name] - paint.UNIT // 2  # pixel k covers k to k + 1
        polygons = list(outline) if outline.ndim == 3 else [outline]
        for polygon in polygons:
            cv2.fillPoly(mask, [polygon], (1,), cv2.LINE_8, paint.FRACTION)
    return masks.astype(bool)
