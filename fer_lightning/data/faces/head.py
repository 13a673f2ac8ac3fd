"""The head around the features: outline, cheeks, ears, neck and beard."""

import numpy as np

from fer_lightning.data.faces.people import Traits
from fer_lightning.data.faces.pose import Pose
from fer_lightning.data.faces.shapes import (
    SIDE,
    Array,
    Shapes,
    Units,
    circle,
    loop,
    paired,
    spread,
    whole,
)

SKULL = 29.0  # pixels from the middle of the face to the top of the head
FOREHEAD = 22.5  # pixels from there to the top of the face oval, about the hairline


def outline(
    angle: Array, traits: Traits, au: Units, grow: Array | float = 0.0
) -> tuple[Array, Array]:
    """Silhouette of the head.

    Args:
        angle: (1 or N, P) radians from the right ear, downwards positive.
        traits: of N faces.
        au: action units of N faces.
        grow: (N, P) pixels to stay outside of the head, for hair.

    Returns:
        x, y: (N, P) each.
    """
    t = spread(traits, 1)
    m = whole(au)
    cos, sin = np.cos(angle), np.sin(angle)
    down = np.clip(sin, 0, 1)
    width = t["face_width"] * (1 - t["taper"] * down**1.5 + 0.03 * (m[12] + m[6]) * down * cos**2)
    below = np.sign(cos) * np.abs(cos) ** t["jaw"]
    x = (width + grow) * np.where(sin > 0, below, cos)
    y = np.where(sin > 0, t["chin"] + 2.8 * m[26] + grow, SKULL + grow) * sin
    return x, y


def head(traits: Traits, au: Units, pose: Pose) -> Shapes:
    """Outline of the face, ears, cheeks, beard, moustache, neck and clothes."""
    t = spread(traits, 1)
    m = whole(au)
    around = circle(56)[None]
    face_x, face_y = outline(around, traits, au)
    # the oval follows the head up to the brows and closes at the hairline
    oval_y = np.where(
        face_y < 0, -FOREHEAD * (1 - (1 - np.abs(face_y) / SKULL).clip(0) ** 1.5), face_y
    )

    ring = circle(16)
    a = paired(au)
    s = spread(traits, 2)
    ear_x = SIDE * (s["face_width"] + 0.7 + 1.9 * np.cos(ring))
    ear_y = -1.0 + 4.2 * np.sin(ring) - 0.6 * np.cos(ring)
    cheek_x = SIDE * (9.8 + 0.4 * a[12] + 4.4 * np.cos(ring))
    cheek_y = 4.2 - 1.5 * a[6] - 1.3 * a[12] + 3.6 * np.sin(ring)

    jaw = np.linspace(0.03 * np.pi, 0.97 * np.pi, 25)[None]  # right → left along the jaw
    jaw_x, jaw_y = outline(jaw, traits, au)
    aside = np.abs(np.cos(jaw))
    inner_x = jaw_x * (0.55 + 0.33 * aside**2)
    inner_y = t["mouth_y"] - 4.2 + 5.0 * aside**1.2 * (1 - aside**6) * 1.6 - 6.0 * aside**6
    lip = np.linspace(-1, 1, 13)[None]
    tash_x = (t["mouth_width"] + 0.6 + m[12]) * lip
    tash_y = t["mouth_y"] - 2.0 - 1.2 * m[10] - 0.9 * m[9] + 0.3 * m[12]
    tash_y = tash_y + (1.5 - 2.9 * m[12] + 1.6 * m[15]) * lip**2
    none = 0 * t["chin"]
    neck_x = np.array([[-0.64, -0.6, -0.8, 0.8, 0.6, 0.64]]) * t["face_width"]
    cloth_x = np.array([[-40.0, -14.0, -9.0, 9.0, 14.0, 40.0, 40.0, -40.0]])
    cloth_y = np.array([[29.0, 22.5, 28.0, 28.0, 22.5, 29.0, 60.0, 60.0]])
    return {
        "face": pose.project(face_x, face_y, flat=True),
        "face_region": pose.project(face_x, oval_y, flat=True),
        "ear": pose.project(ear_x, ear_y, flat=True),
        "ear_inner": pose.project(
            SIDE * (s["face_width"] + 0.6 + 1.0 * np.cos(ring)),
            -1.2 + 2.6 * np.sin(ring),
            flat=True,
        ),
        "cheek": pose.project(cheek_x, cheek_y),
        "beard": loop(
            pose.project(jaw_x, jaw_y, flat=True),
            pose.project(inner_x, np.minimum(inner_y, jaw_y - 0.5)),
        ),
        "moustache": loop(
            pose.project(tash_x * 0.85, tash_y - 1.1 * (1 - lip**2) - 0.2, 1.0),
            pose.project(tash_x, tash_y + 0.5 + 0.5 * lip**2, 1.0),
        ),
        "neck": pose.project(
            neck_x, np.array([[8.0, 20.0, 34.0, 34.0, 20.0, 8.0]]) + none, flat=True
        ),
        "clothes": pose.project(cloth_x + none, cloth_y + none, flat=True),
        "jaw_line": pose.project(jaw_x, jaw_y + 0.8, flat=True),
    }
