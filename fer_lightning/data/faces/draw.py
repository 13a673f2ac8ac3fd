"""From traits and action units to pixels and region masks."""

from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.faces import light, paint, scene
from fer_lightning.data.faces.brows import brows
from fer_lightning.data.faces.brush import FRACTION, UNIT, Brush, Points
from fer_lightning.data.faces.eyes import eyes
from fer_lightning.data.faces.hair import hair
from fer_lightning.data.faces.head import SKULL, head
from fer_lightning.data.faces.looks import tones
from fer_lightning.data.faces.mouth import mouth
from fer_lightning.data.faces.nose import nose
from fer_lightning.data.faces.people import Traits
from fer_lightning.data.faces.pose import Pose
from fer_lightning.data.faces.shapes import Units

REGION_NAMES = ("eyes", "eyebrow", "nose", "mouth", "face")
_OUTLINES = ("eye_region", "brow_region", "nose_region", "mouth_region", "face_region", "face")


def render(
    traits: Traits, au: Units, image_size: int, difficulty: float, count: int
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_], float]]:
    """Draw the first `count` of the N faces.

    Yields:
        Per face the picture (H, W) in grey levels before noise, the masks (6, H, W) of
        REGION_NAMES and then the whole head, and the noise's standard deviation.
    """
    pose = Pose.of(traits, difficulty)
    parts = (head, hair, eyes, brows, nose, mouth)
    shapes = {name: s for part in parts for name, s in part(traits, au, pose).items()}
    side = image_size * (4 if image_size <= 96 else 2)  # drawn larger, then averaged

    def points(scale: float) -> dict[str, Points]:
        return {k: np.round(v * scale * UNIT).astype(np.int32) for k, v in shapes.items()}

    sharp, soft, final = points(side / 48), points(light.GRID / 48), points(image_size / 48)
    looks = tones(traits, au, difficulty)
    middle = pose.project(0 * traits["chin"], (traits["chin"] - SKULL) / 2, flat=True)  # (N, 2)
    for i in range(count):
        look = {k: float(v[i]) for k, v in looks.items()}
        shape = {k: v[i] for k, v in sharp.items()}
        wall = scene.background(side, look["background"], traits["clutter"][i])
        brush = Brush(wall, side / 48)
        paint.person(brush, shape, look)
        paint.eyes(brush, shape, look)
        paint.nose(brush, shape, look)
        paint.mouth(brush, shape, look)
        paint.brows(brush, shape, look)
        paint.hair(brush, shape, look, traits["strand"][i])
        if look["glasses"]:
            scene.glasses(brush, shape, look)
        head_at = (float(middle[i, 0]), float(middle[i, 1]))
        head_size = (float(traits["face_width"][i]), SKULL)
        blurry = {k: v[i] for k, v in soft.items()}
        lit, gloss = light.shading(light.relief(blurry, look), head_at, head_size, look)
        lit *= light.shadow(blurry, look)
        picture = wall * _resized(lit, side)
        if look["hand"]:
            scene.hand(Brush(picture, side / 48), look)
        picture = _resized(picture, image_size) + _resized(gloss, image_size)
        blurred = cv2.GaussianBlur(picture, (0, 0), 0.25 + look["blur"] * image_size / 48)
        graded = (blurred - 128) * look["contrast"] + 128 + look["brightness"]
        masks = region_masks({k: final[k][i] for k in _OUTLINES}, image_size)
        yield graded.astype(np.float32), masks, look["noise"]


def _resized(field: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """Average to a smaller square, interpolate smoothly to a larger one."""
    how = cv2.INTER_CUBIC if side > len(field) else cv2.INTER_AREA
    return cv2.resize(field, (side, side), interpolation=how).astype(np.float32, copy=False)


def region_masks(shape: dict[str, Points], image_size: int) -> NDArray[np.bool_]:
    """Masks (6, H, W) of one face from its outlines, in the order of _OUTLINES."""
    masks = np.zeros((len(_OUTLINES), image_size, image_size), np.uint8)
    for mask, name in zip(masks, _OUTLINES, strict=True):
        outline = shape[name] - UNIT // 2  # pixel k covers k to k + 1
        for polygon in outline if outline.ndim == 3 else [outline]:
            cv2.fillPoly(mask, [polygon], (1,), cv2.LINE_8, FRACTION)
    return masks.astype(bool)
