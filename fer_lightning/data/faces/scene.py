"""What stands behind the face and in front of it: clutter, glasses, a hand."""

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.faces.brush import UNIT, Brush, Points


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
