"""Light on one face: a relief of the head, lit from one direction, with soft shadows."""

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.faces.paint import Brush, Points

Field = NDArray[np.float32]


def relief(side: int, shape: dict[str, Points], look: dict[str, float]) -> NDArray[np.float32]:
    """Height over the ellipsoid of the head, (side, side), in pixels of a 48x48 image."""
    scale = side / 48
    broad = Brush(np.full((side, side), 100, np.uint8), scale)
    for k in (0, 1):
        broad.fill(shape["cheek"][k], 130 + 45 * look["smile"])
        broad.fill(shape["ridge"][k], 118 + 25 * look["frown"])
        broad.fill(shape["socket"][k], 66)
    broad.fill(shape["chin_boss"], 128)
    broad.fill(shape["ridge_nose"], 150)
    height = cv2.GaussianBlur(broad.canvas, (0, 0), 1.7 * scale).astype(np.float32)
    fine = Brush(np.full((side, side), 100, np.uint8), scale)
    fine.fill(shape["ridge_nose"], 150)
    fine.fill(shape["ball"], 185)
    fine.fill(shape["wing"][0], 150)
    fine.fill(shape["wing"][1], 150)
    fine.fill(shape["lip_up"], 118)
    fine.fill(shape["lip_low"], 140)
    fine.fill(shape["opening"], 70)
    for k in (0, 1):
        fine.line(shape["fold"][k], 100 - 55 * look["fold"], 0.8)
        fine.line(shape["bag"][k], 100 - 40 * look["bag"], 0.6)
        fine.line(shape["furrow"][k], 100 - 80 * look["frown"], 0.6)
    fine.lines(shape["forehead"], 100 - 55 * look["raise"], 0.6)
    fine.lines(shape["wrinkle"], 100 - 75 * look["wrinkle"], 0.5)
    fine.line(shape["chin_dent"], 100 - 40 * look["chin"], 0.6)
    height += cv2.GaussianBlur(fine.canvas, (0, 0), 0.7 * scale)
    return height * 0.05


def shadow(side: int, shape: dict[str, Points], look: dict[str, float]) -> Field:
    """Soft dark places that do not depend on the light's direction, (side, side), 1 = none."""
    scale = side / 48
    tone = Brush(np.full((side, side), 255, np.uint8), scale)
    if look["beard"] > 0:
        tone.fill(shape["beard"], 255 - 150 * look["beard"])
    tone.fill(shape["lip_low"], 255)
    tone.line(shape["under_lip"], 215, 1.2)
    tone.line(shape["jaw_line"], 175, 1.2)
    for k in (0, 1):
        tone.fill(shape["socket"][k], 222)
        tone.line(shape["fold"][k], 255 - 75 * look["fold"], 0.5)
        tone.line(shape["furrow"][k], 255 - 120 * look["frown"], 0.5)
        tone.line(shape["ridge_side"][k][:3], 222, 0.9)
        tone.fill(shape["nostril"][k], 190)
    tone.lines(shape["wrinkle"], 255 - 90 * look["wrinkle"], 0.4)
    tone.lines(shape["forehead"], 255 - 55 * look["raise"], 0.4)
    soft = cv2.GaussianBlur(tone.canvas, (0, 0), 0.55 * scale)
    return soft.astype(np.float32) / 255


def shading(
    height: Field, centre: tuple[float, float], size: tuple[float, float], look: dict[str, float]
) -> tuple[Field, Field]:
    """Light the relief on its ellipsoid.

    Args:
        height: (side, side) from `relief`.
        centre: x, y of the head, in pixels of a 48x48 image.
        size: half width and half height of the head, same pixels.
        look: the light's direction (light_x, light_y) and how hard it is.

    Returns:
        Diffuse factor around 1, and gloss to add in grey levels; (side, side) each.
    """
    side = len(height)
    grid = (np.arange(side, dtype=np.float32) + 0.5) * np.float32(48 / side)
    nx = ((grid - centre[0]) / (size[0] * 1.12))[None, :]
    ny = ((grid - centre[1]) / (size[1] * 1.12))[:, None]
    far = np.minimum(nx * nx + ny * ny, 0.92)
    nz = np.sqrt(1 - far)
    step = side / 48
    gx = cv2.Sobel(height, cv2.CV_32F, 1, 0, ksize=3, scale=step / 8)
    gy = cv2.Sobel(height, cv2.CV_32F, 0, 1, ksize=3, scale=step / 8)
    nx, ny = np.clip(nx, -1, 1) - gx * nz, np.clip(ny, -1, 1) - gy * nz
    long = np.sqrt(nx * nx + ny * ny + nz * nz)
    lx, ly = look["light_x"], look["light_y"]
    lz = 1.0
    length = (lx * lx + ly * ly + lz * lz) ** 0.5
    cos = np.maximum((nx * lx + ny * ly + nz * lz) / (long * length), 0)
    half = np.maximum(
        (nx * lx / 2 + ny * ly / 2 + nz * lz) / (long * (lx**2 / 4 + ly**2 / 4 + 1) ** 0.5), 0
    )
    gloss = half**2
    gloss = gloss**2
    gloss = gloss**2
    gloss = gloss**2 * gloss  # 24th power
    hard = look["light_hard"]
    return (1 - hard) * 0.95 + hard * 1.3 * cos, gloss * look["gloss"]
