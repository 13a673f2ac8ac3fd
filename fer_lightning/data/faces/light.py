"""Light on one face: a relief of the head, lit from one direction, with soft shadows."""

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.faces.paint import UNIT, Brush, Points

Field = NDArray[np.float32]
GRID = 96  # light is soft: it is computed on this many pixels whatever the picture's size


def _blurred(brush: Brush, sigma: float) -> Field:
    """Blur by `sigma` pixels of a 48x48 image, in float, for uint8 steps would show as edges."""
    kernel = 2 * round(3 * sigma * brush.scale) + 1
    field = brush.canvas.astype(np.float32)
    return np.asarray(cv2.GaussianBlur(field, (kernel, kernel), sigma * brush.scale), np.float32)


def relief(shape: dict[str, Points], look: dict[str, float]) -> NDArray[np.float32]:
    """Height over the ellipsoid of the head, (GRID, GRID), in pixels of a 48x48 image."""
    broad = Brush(np.full((GRID, GRID), 100, np.uint8), GRID / 48)
    for k in (0, 1):
        broad.fill(shape["cheek"][k], 130 + 45 * look["smile"])
        broad.fill(shape["ridge"][k], 118 + 25 * look["frown"])
        broad.fill(shape["socket"][k], 66)
    broad.fill(shape["chin_boss"], 128)
    broad.fill(shape["ridge_nose"], 150)
    height = _blurred(broad, 1.7)
    fine = Brush(np.full((GRID, GRID), 100, np.uint8), GRID / 48)
    fine.fill(shape["ridge_nose"], 118)
    fine.fill(shape["ball"], 165)
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
    fine.lines(shape["wrinkle"], 100 - 60 * look["wrinkle"], 0.45)
    fine.line(shape["chin_dent"], 100 - 40 * look["chin"], 0.6)
    if not look["bald"]:
        fine.fill(shape["hair"], 100)
    height += _blurred(fine, 0.7)
    return height * 0.05


def shadow(shape: dict[str, Points], look: dict[str, float]) -> Field:
    """Soft dark places that do not depend on the light's direction, (GRID, GRID), 1 = none."""
    tone = Brush(np.full((GRID, GRID), 255, np.uint8), GRID / 48)
    if look["beard"] > 0:
        tone.fill(shape["beard"], 255 - 150 * look["beard"])
    tone.fill(shape["lip_low"], 255)
    tone.line(shape["under_lip"], 215, 1.2)
    tone.line(shape["jaw_line"][6:-6], 175, 1.2)
    for k in (0, 1):
        tone.fill(shape["socket"][k], 232)
        tone.line(shape["fold"][k], 255 - 75 * look["fold"], 0.5)
        tone.line(shape["furrow"][k], 255 - 120 * look["frown"], 0.5)
        tone.fill(shape["nostril"][k], 190)
    tone.lines(shape["wrinkle"], 255 - 60 * look["wrinkle"], 0.3)
    tone.lines(shape["forehead"], 255 - 55 * look["raise"], 0.4)
    if not look["bald"]:
        tone.fill(shape["hair"], 255)
    return _blurred(tone, 0.55) / np.float32(255)


def shading(
    height: Field, centre: tuple[float, float], size: tuple[float, float], look: dict[str, float]
) -> tuple[Field, Field]:
    """Light the relief on its ellipsoid: a factor around 1 and gloss in grey levels to add.

    Centre (x, y) and half size of the head are in pixels of a 48x48 image; fields are (GRID, GRID).
    """
    grid = (np.arange(GRID, dtype=np.float32) + 0.5) * np.float32(48 / GRID)
    nx = ((grid - centre[0]) / (size[0] * 1.12))[None, :]
    ny = ((grid - centre[1]) / (size[1] * 1.12))[:, None]
    far = np.minimum(nx * nx + ny * ny, 0.92)
    nz = np.sqrt(1 - far)
    slope = GRID / 48 / 8  # 8: the sum of Sobel's weights
    gx = cv2.Sobel(height, cv2.CV_32F, 1, 0, ksize=3, scale=slope)
    gy = cv2.Sobel(height, cv2.CV_32F, 0, 1, ksize=3, scale=slope)
    nx, ny = np.clip(nx, -1, 1) - gx * nz, np.clip(ny, -1, 1) - gy * nz
    long = np.sqrt(nx * nx + ny * ny + nz * nz)
    lx, ly = look["light_x"], look["light_y"]
    side_light = nx * lx + ny * ly
    cos = np.maximum((side_light + nz) / (long * (lx**2 + ly**2 + 1) ** 0.5), 0)
    # the mirror direction lies half way between the light and the viewer
    mirror = np.maximum((side_light / 2 + nz) / (long * (lx**2 / 4 + ly**2 / 4 + 1) ** 0.5), 0)
    gloss = ((mirror**2) ** 2) ** 2
    gloss = gloss**2 * gloss  # the 24th power
    hard = look["light_hard"]
    return (1 - hard) * 1.02 + hard * 1.35 * cos, gloss * look["gloss"]


def background(side: int, tone: float, clutter: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Blurred patches of other greys on a plain wall, (side, side)."""
    small = 24
    wall = np.full((small, small), tone, np.float32)
    wall += np.linspace(-40, 40, small, dtype=np.float32)[None] * np.float32(clutter[0] - 0.5)
    patches = np.clip(wall, 0, 255).astype(np.uint8)
    for k in range(int(clutter[1] * 6)):  # up to five patches
        x, y, w, h, grey, kind = clutter[2 + 6 * k : 8 + 6 * k]
        corner = (int(x * 30) - 6, int(y * 30) - 6)
        if kind < 0.6:
            end = (corner[0] + int(3 + w * 12), corner[1] + int(3 + h * 20))
            cv2.rectangle(patches, corner, end, (40 + 200 * grey,), -1)
        else:
            cv2.circle(patches, corner, int(2 + w * 6), (40 + 200 * grey,), -1)
    soft = cv2.GaussianBlur(patches, (0, 0), 0.6 + clutter[39])
    return np.asarray(cv2.resize(soft, (side, side), interpolation=cv2.INTER_CUBIC), np.uint8)


def glasses(brush: Brush, shape: dict[str, Points], look: dict[str, float]) -> None:
    """Frames around the eye regions, joined over the nose and running to the ears."""
    for k in (0, 1):
        frame = shape["lens"][k]
        brush.line(np.concatenate([frame, frame[:1]]), look["frame"], look["frame_width"])
        ear = shape["ear"][k].mean(0, dtype=np.int32)
        brush.line(np.stack([frame[0], ear]), look["frame"], 0.7 * look["frame_width"])
    bridge = shape["lens"][:, [8, 12]].mean(1, dtype=np.int32)  # the inner sides
    brush.line(bridge, look["frame"], look["frame_width"])


def hand(brush: Brush, look: dict[str, float]) -> None:
    """Four fingers and the back of a hand, from below over part of the lower face."""
    tone, unit = look["skin"], brush.scale * UNIT
    x0 = 24 + 17 * look["hand_x"]
    y0 = 46 - 14 * look["hand_y"]
    turn = look["hand_angle"] - 0.5 * look["hand_x"]
    along = np.array([np.sin(turn), -np.cos(turn)])
    across = np.array([np.cos(turn), np.sin(turn)])
    base = np.array([x0, y0])
    corners = [base + across * 7, base - across * 7, base - across * 8 - along * 20]
    palm = np.array([*corners, base + across * 8 - along * 20])
    brush.fill(np.round(palm * unit).astype(np.int32), 0.9 * tone)
    for k, reach in enumerate((8.0, 10.5, 10.0, 7.5)):
        start = base + across * (3.6 * k - 5.4) - along * 2
        finger = np.round(np.stack([start, start + along * reach]) * unit).astype(np.int32)
        brush.line(finger, 0.55 * tone, 4.0)
        brush.line(finger, 0.9 * tone, 3.5)
        brush.line(finger + np.int32(unit * 0.3), 0.97 * tone, 2.2)
        brush.line(finger[1:] + np.int32(unit * 0.2), 1.05 * tone, 1.6)
