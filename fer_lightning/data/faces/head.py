"""The head around the features: outline, cheeks, ears, neck, hair and beard."""

import numpy as np

from fer_lightning.data.faces.features import SIDE, Array, Shapes, column, loop
from fer_lightning.data.faces.people import Traits
from fer_lightning.data.faces.pose import Pose

SKULL = 25.0  # pixels from the middle of the face to the top of the head


def head(traits: Traits, au: dict[int, Array], pose: Pose) -> Shapes:
    """Outline of the face, neck, ears, cheeks and everything that grows on it."""
    t = {k: v[:, None] for k, v in traits.items() if v.ndim == 1}
    m = {k: v.mean(1, keepdims=True) for k, v in au.items()}
    drop = 2.8 * m[26]

    def outline(angle: Array, grow: Array | float = 0.0) -> tuple[Array, Array]:
        """Points at angles measured from the right ear, downwards positive; (N, P) each."""
        cos, sin = np.cos(angle), np.sin(angle)
        below = np.sign(cos) * np.abs(cos) ** t["jaw"]
        x = (t["face_width"] + grow) * np.where(sin > 0, below, cos)
        x = x * (1 + 0.03 * (m[12] + m[6]) * np.exp(-(((angle % np.pi) - 0.35) ** 2) / 0.1))
        y = np.where(sin > 0, (t["chin"] + drop + grow) * sin, (SKULL + grow) * sin)
        return x, y

    around = np.linspace(0, 2 * np.pi, 56, endpoint=False)[None]
    face_x, face_y = outline(around)
    style = t["hair_style"]
    long = style > 0.62
    side_y = np.where(long, 16.0, -3.0 - 5 * (style % 0.2))  # how far hair comes down
    over = np.linspace(-np.pi, 0, 25)[None]  # left ear, over the top, right ear
    hair_x, hair_y = outline(over, t["hair_volume"] + 1.0)
    u = np.linspace(-1, 1, 25)[None]
    fringe = np.where((style > 0.3) & (style < 0.5), 2.6, 0.0)
    line_y = t["hair_line"] + fringe + 2.0 * t["hair_part"] * u * (1 - u**2)
    line_y = line_y + (side_y - line_y) * np.abs(u) ** np.where(fringe > 0, 9.0, 5.0)
    wave = 0.7 * np.sin(9 * u + 20 * t["hair_part"]) * (1 - u**2)
    inner = np.where(long, 0.93, 0.99)
    hairline = pose.project(t["face_width"] * inner * np.sin(np.pi / 2 * u), line_y + wave)
    down = np.where(np.abs(u) > 0.999, side_y, hair_y)  # hair comes down at the sides
    crown = pose.project(hair_x, down, flat=True)
    back_x, back_y = outline(around, t["hair_volume"] + 2.2)
    back_y = np.where(back_y > 0, 30.0, back_y)

    side = np.linspace(0, 2 * np.pi, 16, endpoint=False)[None, None]
    a = {k: column(v) for k, v in au.items()}
    s = {k: column(v) for k, v in traits.items() if v.ndim == 1}
    ear_x = SIDE * (s["face_width"] + 0.6 + 1.7 * np.cos(side))
    ear_y = -1.5 + 4.0 * np.sin(side)
    cheek_up = 1.5 * a[6] + 1.2 * a[12]
    cheek_x = SIDE * (10.0 + 0.4 * a[12] + 4.2 * np.cos(side))
    cheek_y = 4.0 - cheek_up + 3.6 * np.sin(side)

    jaw = np.linspace(0.06 * np.pi, 0.94 * np.pi, 21)[None]  # right → left along the jaw
    jaw_x, jaw_y = outline(jaw)
    top = t["mouth_y"] - 4.4 + 7.5 * np.abs(np.cos(jaw)) ** 3 - 6.5 * np.abs(np.cos(jaw)) ** 8
    beard = loop(
        pose.project(jaw_x, jaw_y, flat=True), pose.project(jaw_x * 0.86, np.minimum(top, jaw_y))
    )
    lip = np.linspace(-1, 1, 13)[None]
    wide = (t["mouth_width"] + 0.8) * lip
    tash_y = t["mouth_y"] - 1.6 - 1.2 * m[10] - 0.9 * m[9] - (1.9 * m[12] - 1.5 * m[15]) * lip**2
    neck_x = np.array([[-0.66, -0.62, -0.8, 0.8, 0.62, 0.66]]) * t["face_width"]
    neck_y = np.array([[8.0, 20.0, 34.0, 34.0, 20.0, 8.0]]) + 0 * drop
    cloth_x = np.array([[-40.0, -13.0, -9.0, 9.0, 13.0, 40.0, 40.0, -40.0]]) + 0 * drop
    cloth_y = np.array([[27.0, 22.5, 26.0, 26.0, 22.5, 27.0, 60.0, 60.0]]) + 0 * drop
    return {
        "face": pose.project(face_x, face_y, flat=True),
        "hair": loop(crown, hairline),
        "hairline": hairline,
        "crown": crown,
        "hair_back": pose.project(back_x, back_y, flat=True),
        "ear": pose.project(ear_x, ear_y, flat=True),
        "cheek": pose.project(cheek_x, cheek_y),
        "beard": beard,
        "moustache": loop(
            pose.project(wide * 0.8, tash_y - 1.5 + 1.3 * lip**2, 1.0),
            pose.project(wide, tash_y + 0.7 + 1.3 * lip**2, 1.0),
        ),
        "neck": pose.project(neck_x, neck_y, flat=True),
        "clothes": pose.project(cloth_x, cloth_y, flat=True),
        "jaw_line": pose.project(jaw_x, jaw_y + 0.6, flat=True),
    }
