"""One grey face as pixels, and the masks of its regions."""

import cv2
import numpy as np
from numpy.typing import NDArray

REGION_NAMES = ("eyes", "eyebrow", "nose", "mouth", "face")

# per class: brow inner up, brow outer up, lid opening, mouth corner up, mouth opening
_SHAPES = (
    (-2.0, 0.5, 0.8, -0.6, 0.2),
    (-1.5, -0.5, 0.6, -1.0, 0.8),
    (2.0, 0.5, 1.5, -0.4, 1.6),
    (0.2, 0.2, 0.8, 2.2, 1.0),
    (1.8, -1.2, 0.8, -1.8, 0.0),
    (2.2, 2.2, 1.6, 0.0, 3.0),
    (0.0, 0.0, 1.0, 0.0, 0.0),
)


def face(
    expression: int, rng: np.random.Generator, image_size: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Draw one face: (H, W) grey in [0, 255], and (5, H, W) masks in the order REGION_NAMES."""
    scale = 4 * image_size / 48
    side = 4 * image_size
    image = np.full((side, side), int(rng.integers(20, 220)), np.uint8)
    masks = np.zeros((5, image_size, image_size), np.uint8)
    inner, outer, lid, corner, mouth = np.array(_SHAPES[expression]) * rng.uniform(0.3, 1)
    shift = rng.normal(0, 1.5, 2)

    def points(xy: list[tuple[float, float]]) -> NDArray[np.int32]:
        return np.round((np.array(xy) + shift + 24) * scale).astype(np.int32)

    def ellipse(x: float, y: float, a: float, b: float) -> list[tuple[float, float]]:
        t = np.linspace(0, 2 * np.pi, 25)
        return list(zip(x + a * np.cos(t), y + b * np.sin(t), strict=True))

    def fill(shape: list[tuple[float, float]], tone: int, region: str | None = None) -> None:
        cv2.fillPoly(image, [points(shape)], tone)
        if region is not None:
            small = np.round(points(shape) / 4).astype(np.int32)
            cv2.fillPoly(masks[REGION_NAMES.index(region)], [small], 1)

    skin = int(rng.integers(110, 220))
    fill(ellipse(0, 2, 18, 23), skin, "face")
    for side_x in (-1, 1):
        fill(ellipse(side_x * 8.6, -6, 4, 2 * max(lid, 0.3)), 240, "eyes")
        fill(ellipse(side_x * 8.6, -6, 1.6, min(1.6, 2 * max(lid, 0.3))), 30)
        brow = [(4, -10 - inner), (15, -10 - outer), (15, -11.5 - outer), (4, -12 - inner)]
        fill([(side_x * x, y) for x, y in brow], skin // 3, "eyebrow")
    fill([(0, -4), (3.5, 5), (-3.5, 5)], skin - 25, "nose")
    lips = [(-7, 12 - corner), (0, 11 - mouth / 2), (7, 12 - corner), (0, 14 + mouth)]
    fill(lips, skin // 2, "mouth")
    small = cv2.resize(image, (image_size, image_size), interpolation=cv2.INTER_AREA)
    return small + rng.normal(0, 6, small.shape).astype(np.float32), masks.astype(bool)
