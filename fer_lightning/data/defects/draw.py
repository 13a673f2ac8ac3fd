"""One plate, from its random numbers to pixels and region masks."""

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.defects import surfaces
from fer_lightning.data.defects.layout import lay_out
from fer_lightning.data.defects.marks import DEFECTS, Layers, print_stamp, stamp_cells
from fer_lightning.data.faces.paint import Brush

REGION_NAMES = ("defect", "print", "plate")
# Of random numbers: what no class knows, the defect's shape, and noise, which comes last and with
# numbers of its own, so that a plate looks the same at every size.
STREAMS = (1, 2, 3)


def render(
    seeds: tuple[int, int], defect: str, image_size: int, difficulty: float
) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Draw one plate.

    Args:
        seeds: of the data set, and the picture's index in it.
        defect: a name in `marks.DEFECTS`; it decides the defect's shape and nothing else.
        image_size: height and width in pixels.
        difficulty: 0 to 1.

    Returns:
        The picture (H, W), and the masks (3, H, W) of REGION_NAMES.
    """
    rng, own, grain = (np.random.default_rng([*seeds, stream]) for stream in STREAMS)
    side = image_size * (3 if image_size <= 96 else 2)  # drawn larger, then averaged
    layers = Layers.blank(side)
    cells, half = stamp_cells(rng)
    layout = lay_out(rng, half, difficulty)
    print_stamp(layers, rng, cells, half, layout.stamp)
    force = rng.uniform(0.85, 1.15) * (1.3 - 0.6 * difficulty)
    DEFECTS[defect](layers, own, layout.defect, layout.reach, force)
    plate = np.zeros((side, side), np.uint8)
    Brush(plate, layers.scale).fill(layers.fixed(layout.outline), 255)

    busy = np.float32(rng.uniform(0.05, 0.1) * (0.6 + 0.8 * difficulty))
    grey, rough = surfaces.texture(rng, side)
    bevel = np.float32(rng.uniform(0.4, 1.0) / 255)
    relief = layers.soft(layers.relief + bevel * plate, 0.35) + 2 * busy * rough
    surface = layers.tone * surfaces.shading(rng, relief) * (1 + busy * grey)
    surface *= np.float32(rng.uniform(105, 175))
    large = np.where(plate > 0, surface, surfaces.wall(rng, plate))
    picture = cv2.resize(large, (image_size, image_size), interpolation=cv2.INTER_AREA)
    picture = cv2.GaussianBlur(picture, (0, 0), rng.uniform(0.3, 0.55) * image_size / 48)
    noise = np.float32(rng.uniform(1, 4) * (0.5 + difficulty))
    picture = picture + noise * grain.standard_normal(picture.shape, dtype=np.float32)
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8), _masks(layers, plate, image_size)


def _masks(layers: Layers, plate: NDArray[np.uint8], image_size: int) -> NDArray[np.bool_]:
    """Masks (3, H, W): the defect with its edge, the stamp and the plate."""
    wide = 2 * round(0.7 * layers.scale) + 1
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (wide, wide))
    grown = cv2.dilate(layers.defect, kernel)
    size = (image_size, image_size)
    drawn = (grown, layers.stamp, plate)
    return np.stack([cv2.resize(m, size, interpolation=cv2.INTER_AREA) >= 128 for m in drawn])
