"""The anatomy of a face: its pose, and curves of all its parts that the action units move."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.faces.people import Traits

Array = NDArray[np.float64]
Units = dict[int, Array]  # FACS number → (N, 2) strength on the left and right half
Shapes = dict[str, Array]  # name → (N, points, 2), or (N, 2, points, 2) for left and right
SIDE = np.array([-1.0, 1.0])[None, :, None]  # (1, 2, 1): left, right half of the picture
CENTRE_X, CENTRE_Y = 24.3, 24.8  # the middle of the face: puts the mean eye where FER-2013 has it
DEPTH = 20.0  # half depth of the ellipsoid that stands for a head, pixels
PIVOT = 15.0  # depth of the plane that a turn leaves in place
SKULL = 29.0  # pixels from the middle of the face to the top of the head
FOREHEAD = 22.5  # pixels from there to the top of the face oval, about the hairline
BALD, CROPPED, SHORT, FRINGE, PARTED = 0.04, 0.13, 0.34, 0.48, 0.62  # hair_style below: kind
SIDE_POINTS, TOP_POINTS = 5, 29


def _paired(values: dict[int, Array]) -> dict[int, Array]:
    """Action units (N, 2) as (N, 2, 1), to go with left and right curves (N, 2, points)."""
    return {key: value[:, :, None] for key, value in values.items()}


def _whole(values: dict[int, Array]) -> dict[int, Array]:
    """Action units (N, 2) as their mean (N, 1), to go with one curve (N, points)."""
    return {key: value.mean(1, keepdims=True) for key, value in values.items()}


def _spread(traits: dict[str, Array], axes: int) -> dict[str, Array]:
    """Traits (N,) with `axes` axes of length 1 added; wider traits are left out."""
    return {k: v.reshape(-1, *[1] * axes) for k, v in traits.items() if v.ndim == 1}


def _loop(first: Array, second: Array) -> Array:
    """Close two curves (..., P, 2) that run the same way into one polygon (..., 2P, 2)."""
    return np.concatenate([first, second[..., ::-1, :]], axis=-2)


def _circle(points: int) -> Array:
    """Angles of points around a circle, (points,), in radians."""
    return np.linspace(0, 2 * np.pi, points, endpoint=False)


@dataclass(frozen=True)
class Pose:
    """The turn, size and place of N heads; all arrays are (N,), angles in radians."""

    yaw: Array
    pitch: Array
    roll: Array
    zoom: Array
    shift_x: Array
    shift_y: Array

    @classmethod
    def of(cls, traits: Traits, movement: float) -> "Pose":
        """Scale the traits' turns: up to 16° yaw, 9° pitch, 10° roll with a movement of 1."""
        return cls(
            yaw=0.28 * movement * traits["yaw"],
            pitch=0.16 * movement * traits["pitch"],
            roll=0.17 * movement * traits["roll"],
            zoom=1 + 0.07 * movement * traits["zoom"],
            shift_x=2.5 * movement * traits["shift_x"],
            shift_y=2.0 * movement * traits["shift_y"],
        )

    def project(self, x: Array, y: Array, lift: Array | float = 0.0, flat: bool = False) -> Array:
        """Turn points of the frontal face and place them in the picture.

        Args:
            x: (N, ...) pixels to the right of the middle of the face.
            y: (N, ...) pixels below the level between eyes and nose.
            lift: how far the points stand out of the head's ellipsoid, pixels.
            flat: the points lie on the silhouette, where a turn moves nothing but the chin.

        Returns:
            (N, ..., 2) x and y in pixels of a 48x48 picture.
        """
        x, y = np.broadcast_arrays(x, y)
        yaw, pitch, roll, zoom, shift_x, shift_y = (
            values.reshape(-1, *[1] * (x.ndim - 1)) for values in vars(self).values()
        )
        if flat:
            depth = 5.0 + 8.0 * np.clip(y / 22, 0, 1) ** 2
        else:
            depth = DEPTH * np.sqrt(np.clip(1 - (x / 21) ** 2 - (y / 30) ** 2, 0.02, 1)) + lift
        x_turned = x * np.cos(yaw) + (depth - PIVOT) * np.sin(yaw)
        depth_turned = depth * np.cos(yaw) - x * np.sin(yaw)
        y_turned = y * np.cos(pitch) + (depth_turned - PIVOT) * np.sin(pitch)
        right = zoom * (x_turned * np.cos(roll) - y_turned * np.sin(roll))
        down = zoom * (x_turned * np.sin(roll) + y_turned * np.cos(roll))
        return np.stack([right + CENTRE_X + shift_x, down + CENTRE_Y + shift_y], axis=-1)


def _outline(
    angle: Array, traits: Traits, au: Units, grow: Array | float = 0.0
) -> tuple[Array, Array]:
    """Silhouette of the head, x and y of (N, P), at angles (1 or N, P) from the right ear.

    Angles are in radians, downwards positive; `grow` is how many pixels hair stays outside of the
    head.
    """
    t = _spread(traits, 1)
    m = _whole(au)
    cos, sin = np.cos(angle), np.sin(angle)
    down = np.clip(sin, 0, 1)
    width = t["face_width"] * (1 - t["taper"] * down**1.5 + 0.03 * (m[12] + m[6]) * down * cos**2)
    below = np.sign(cos) * np.abs(cos) ** t["jaw"]
    x = (width + grow) * np.where(sin > 0, below, cos)
    y = np.where(sin > 0, t["chin"] + 2.8 * m[26] + grow, SKULL + grow) * sin
    return x, y


def head(traits: Traits, au: Units, pose: Pose) -> Shapes:
    """Outline of the face, ears, cheeks, beard, moustache, neck and clothes."""
    t = _spread(traits, 1)
    m = _whole(au)
    around = _circle(56)[None]
    face_x, face_y = _outline(around, traits, au)
    # the oval follows the head up to the brows and closes at the hairline
    oval_y = np.where(
        face_y < 0, -FOREHEAD * (1 - (1 - np.abs(face_y) / SKULL).clip(0) ** 1.5), face_y
    )

    ring = _circle(16)
    a = _paired(au)
    s = _spread(traits, 2)
    ear_x = SIDE * (s["face_width"] + 0.7 + 1.9 * np.cos(ring))
    ear_y = -1.0 + 4.2 * np.sin(ring) - 0.6 * np.cos(ring)
    cheek_x = SIDE * (9.8 + 0.4 * a[12] + 4.4 * np.cos(ring))
    cheek_y = 4.2 - 1.5 * a[6] - 1.3 * a[12] + 3.6 * np.sin(ring)

    jaw = np.linspace(0.03 * np.pi, 0.97 * np.pi, 25)[None]  # right → left along the jaw
    jaw_x, jaw_y = _outline(jaw, traits, au)
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
        "beard": _loop(
            pose.project(jaw_x, jaw_y, flat=True),
            pose.project(inner_x, np.minimum(inner_y, jaw_y - 0.5)),
        ),
        "moustache": _loop(
            pose.project(tash_x * 0.85, tash_y - 1.1 * (1 - lip**2) - 0.2, 1.0),
            pose.project(tash_x, tash_y + 0.5 + 0.5 * lip**2, 1.0),
        ),
        "neck": pose.project(
            neck_x, np.array([[8.0, 20.0, 34.0, 34.0, 20.0, 8.0]]) + none, flat=True
        ),
        "clothes": pose.project(cloth_x + none, cloth_y + none, flat=True),
        "jaw_line": pose.project(jaw_x, jaw_y + 0.8, flat=True),
    }


def brows(traits: Traits, au: Units, pose: Pose) -> Shapes:
    """Brow polygons, their regions, furrows between them and lines on the forehead."""
    s = np.linspace(0, 1, 19)[None, None]  # nose → temple
    a = _paired(au)
    t = _spread(traits, 2)
    x = t["eye_x"] - 4.3 + (8.7 + 0.5 * t["eye_width"]) * s - 1.3 * a[4] * (1 - s)
    y = t["eye_y"] - t["brow_gap"] - t["brow_slope"] * (s - 0.4)
    y = y - t["brow_arch"] * (np.sin(np.pi * s**1.25) - 0.4) * (1 - 0.5 * a[4])
    y = y - 3.5 * a[1] * (1 - s) ** 1.3 - 2.9 * a[2] * (0.2 + 0.8 * np.sin(0.62 * np.pi * s))
    y = y + 2.9 * a[4] * (1 - 0.72 * s) + 1.1 * a[9] * (1 - s) + 0.5 * a[6] * s
    thick = t["brow_thick"] * np.interp(s, [0, 0.1, 0.3, 0.6, 1], [0.3, 0.8, 1.0, 0.85, 0.2])

    def polygon(extra: float) -> Array:
        wide = np.interp(s, [0, 1], [-extra, extra])
        ends = SIDE * (x + wide)
        return _loop(
            pose.project(ends, y - thick - extra, lift=0.8),
            pose.project(ends, y + 0.85 * thick + extra, lift=0.8),
        )

    furrow = np.linspace(0, 1, 5)[None, None]
    top = t["eye_y"] - t["brow_gap"] + 1.6 * a[4] - 0.6
    lines = np.linspace(-1, 1, 13)[None, None]
    rows = np.array([-2.2, -4.2])[None, :, None]  # two lines above the brows
    level = t["eye_y"] - t["brow_gap"] - 1.0 - 2.0 * (a[1].mean(1, keepdims=True))
    return {
        "brow": polygon(0.0),
        "brow_soft": polygon(0.35),
        "brow_region": polygon(0.9),
        "furrow": pose.project(SIDE * (1.5 - 0.4 * a[4] + 0.3 * furrow), top + 3.2 * furrow),
        "forehead": pose.project(9.5 * lines + 0 * rows, level + rows + 0.8 * lines**2),
        "ridge": _loop(
            pose.project(SIDE * x, y - 1.4, lift=0.5), pose.project(SIDE * x, y + 1.6, lift=0.5)
        ),
    }


def _rounded(wave: Array) -> Array:
    """Make a circle's coordinate that of a rounded square."""
    return np.sign(wave) * np.abs(wave) ** 0.65


def eyes(traits: Traits, au: Units, pose: Pose) -> Shapes:
    """Lid curves, iris, crease and lower fold of both eyes; curves run from nose to temple."""
    u = np.linspace(-1, 1, 15)[None, None]
    a = _paired(au)
    t = _spread(traits, 2)
    x = SIDE * (t["eye_x"] + t["eye_width"] * u)
    base = t["eye_y"] + t["eye_cant"] * u + 0.25 * a[15] * u - 0.2 * a[12] * u
    arc = (1 - np.abs(u) ** 2.3) * (1 - 0.35 * np.minimum(a[1], 2 * a[4]) * u + 0.12 * a[2] * u)
    closed = 1 - 0.9 * np.clip(a[43], 0, 1)
    upper = t["eye_open"] * 2.1 * (1 + 0.65 * a[5] - 0.36 * a[7] - 0.25 * a[6] - 0.2 * a[9])
    upper = np.maximum(upper * closed - 0.3 * a[4] * (1 - u), 0.05)
    lower = t["eye_open"] * 1.5 * (1 + 0.15 * a[5] - 0.45 * a[7] - 0.6 * a[6] - 0.3 * a[9])
    lower = np.maximum(lower * (0.6 + 0.4 * closed), -0.2)
    y_up, y_low = base - upper * arc, base + lower * (1 - np.abs(u) ** 2.0)
    crease = y_up - (1.15 - 0.45 * a[4] + 0.35 * a[5]) * (1 - 0.5 * u**2)
    bag = base + 2.3 - 0.9 * a[6] - 0.5 * a[7] + 0.4 * (1 - u**2) * 1.5 - 0.5
    around = _circle(20)
    iris_x = SIDE * t["eye_x"] + t["gaze_x"] + 1.75 * np.cos(around)
    iris_y = t["eye_y"] - 0.15 + t["gaze_y"] + 1.75 * np.sin(around)
    wide = SIDE * (t["eye_x"] + (t["eye_width"] + 0.7) * u)
    return {
        "lid_up": pose.project(x, y_up),
        "lid_low": pose.project(x, y_low),
        "lid_top": pose.project(x, np.minimum(base - 3.2, y_up - 0.3)),
        "lid_bottom": pose.project(x, np.maximum(base + 2.6, y_low + 0.3)),
        "crease": pose.project(x, crease),
        "bag": pose.project(x[..., 2:], bag[..., 2:]),
        "iris": pose.project(iris_x, iris_y),
        "eye_region": _loop(
            pose.project(wide, np.minimum(y_up, base - 1.0) - 1.0),
            pose.project(wide, np.maximum(y_low, base + 0.8) + 0.9),
        ),
        "lens": pose.project(
            SIDE * (t["eye_x"] + 0.3 + 5.4 * t["glasses_size"] * _rounded(np.cos(around))),
            t["eye_y"] + 0.9 + 4.1 * t["glasses_size"] * _rounded(np.sin(around)),
            lift=2.5,
        ),
        "socket": _loop(pose.project(x, base - 3.4 + u**2), pose.project(x, base + 2.0 - u**2)),
    }


def hair(traits: Traits, au: Units, pose: Pose) -> Shapes:
    """Outer edge (crown) and inner edge (hairline) of the hair, and the area between them."""
    t = _spread(traits, 1)
    style = t["hair_style"]
    long = style >= PARTED
    cropped = style < CROPPED
    fringe = ((style >= SHORT) & (style < FRINGE)) | (style > 0.86)
    parted = (style >= FRINGE) & ~fringe
    volume = np.where(cropped, 0.2, t["hair_volume"])

    over = np.linspace(-np.pi + 0.06, -0.06, TOP_POINTS)[None]  # left ear, crown, right ear
    lift = volume * np.where(long, 0.9, 0.15 + 0.85 * np.abs(np.sin(over))) + 0.3
    curl = 0.6 * (t["hair_part"] > 0.4) * ~cropped * np.sin(over * 13 + 9 * t["hair_part"])
    curl = curl * np.sin(over) ** 2
    top_x, top_y = _outline(over, traits, au, lift + curl)
    width = np.abs(top_x[:, :1])
    end = np.where(long, 32.0, -1.5 - 2.5 * t["hair_part"] ** 2)  # where the hair stops
    drop = end + (top_y[:, :1] - end) * np.linspace(0, 1, SIDE_POINTS)[None]
    flare = np.where(long, 0.12 * t["hair_volume"] * np.clip(drop, 0, 9), 0.0)
    crown_x = np.concatenate([-width - flare, top_x, (width + flare)[:, ::-1]], axis=1)
    crown_y = np.concatenate([drop, top_y, drop[:, ::-1]], axis=1)

    u = np.linspace(-1, 1, TOP_POINTS)[None]
    from_part = np.abs(u - 0.6 * t["hair_part"])
    high = t["hair_line"] - np.where(cropped, 1.0, 0.0)
    line = np.select(
        [fringe, parted],
        [
            t["hair_line"] + 4.6 + 1.2 * u * t["hair_part"] + 0.5 * np.sin(14 * u),
            t["hair_line"] - 3.0 + 6.5 * from_part**1.4,
        ],
        high + 0.8 * np.cos(3 * u) + 0.5 * np.sin(11 * u + 20 * t["hair_part"]),
    )
    temple = np.where(long, -4.0, -6.0)
    line = line + (temple - line) * np.abs(u) ** np.where(fringe, 10.0, 6.0)
    edge = t["face_width"] * np.where(long, 0.95, 0.985)
    line_x = edge * np.sin(0.5 * np.pi * u)
    lock_y = end + (temple - end) * np.linspace(0, 1, SIDE_POINTS)[None]
    lock_x = edge * (1 - np.where(long, 0.012 * np.clip(lock_y, 0, 12), 0.0))
    inner_x = np.concatenate([-lock_x, line_x, lock_x[:, ::-1]], axis=1)
    inner_y = np.concatenate([lock_y, line, lock_y[:, ::-1]], axis=1)

    crown = pose.project(crown_x, crown_y, flat=True)
    hairline = pose.project(inner_x, inner_y)
    return {"crown": crown, "hairline": hairline, "hair": _loop(crown, hairline)}


def mouth(traits: Traits, au: Units, pose: Pose) -> Shapes:
    """Lips, opening, teeth, tongue; curves run from the left corner to the right one."""
    u = np.linspace(-1, 1, 21)[None]  # (1, P)
    right = (u + 1) / 2
    a = {k: v[:, :1] * (1 - right) + v[:, 1:] * right for k, v in au.items()}  # (N, P)
    m = _whole(au)
    t = _spread(traits, 1)

    half = t["mouth_width"] + 2.1 * m[12] + 1.9 * m[20] - 0.9 * m[24] - 1.5 * m[26] + 0.2 * m[10]
    x = half * u
    corner = -3.4 * a[12] + 2.5 * a[15] + 0.7 * a[20] + 0.5 * a[26] + t["mouth_bow"]
    middle = 0.7 * m[12] - 0.9 * m[17] - 0.5 * m[15] - 0.4 * m[10]
    centre = t["mouth_y"] + middle + (corner - 0.2 * middle) * np.abs(u) ** 1.7
    bulge = (1 - np.abs(u) ** 2.2) ** 0.8
    part = np.clip(1.4 * m[25], 0, 1.2)
    up = part * (0.5 + 1.0 * m[10] + 0.5 * m[12] + 0.3 * m[26])
    down = part * (0.7 + 5.0 * m[26] + 1.8 * m[16] + 2.0 * m[12] + 0.6 * m[20])
    inner_up, inner_low = centre - up * bulge, centre + down * bulge
    thin = np.clip(1 - 0.75 * m[24] - 0.2 * m[12] - 0.2 * m[20], 0.15, 1.2)
    lip_up = t["lip_upper"] * thin * (1 - 0.25 * m[26])
    lip_low = t["lip_lower"] * thin * (1 + 0.25 * m[17] - 0.15 * m[26])
    bow = 1 - 0.22 * np.exp(-((u / 0.16) ** 2))
    rim = (1 - np.abs(u) ** 1.8) ** 0.75
    outer_up = inner_up - (lip_up + 0.9 * m[10]) * rim * bow
    outer_low = inner_low + lip_low * rim
    show = np.clip(0.9 * m[12] + 0.9 * m[10] + 0.6 * m[20] + 0.5 * m[25], 0, 1.2)
    teeth = np.minimum(inner_up + 2.6 * show * bulge, inner_low - 0.15)
    low_teeth = np.maximum(inner_low - 1.3 * np.clip(1.4 * m[16] - 0.1, 0, 1) * bulge, inner_up)
    tongue = np.maximum(inner_low - 1.6 * bulge, inner_up + 2.2 * bulge)
    wide = (half + 1.0) * u
    tall = (1 - np.abs(u) ** 6) * 1.0
    ring = _circle(16)
    chin = t["chin"] + 2.8 * m[26]
    return {
        "lip_up": _loop(pose.project(x, outer_up, 1.0), pose.project(x, inner_up, 1.0)),
        "lip_low": _loop(pose.project(x, inner_low, 1.0), pose.project(x, outer_low, 1.0)),
        "lip_line": pose.project(x, centre, 1.0),
        "opening": _loop(pose.project(x, inner_up, 1.0), pose.project(x, inner_low, 1.0)),
        "teeth": _loop(pose.project(x, inner_up, 1.0), pose.project(x, teeth, 1.0)),
        "low_teeth": _loop(pose.project(x, low_teeth, 1.0), pose.project(x, inner_low, 1.0)),
        "tongue": _loop(pose.project(0.6 * x, tongue, 1.0), pose.project(0.6 * x, inner_low, 1.0)),
        "under_lip": pose.project(0.6 * x, outer_low + 1.0, 0.5),
        "philtrum": pose.project(0.1 * u + 0 * half, t["mouth_y"] - 4.5 + 1.2 * u, 1.0),
        "corner": pose.project(x[:, [0, -1]], centre[:, [0, -1]]),
        "mouth_region": _loop(
            pose.project(wide, outer_up - tall, 1.0), pose.project(wide, outer_low + tall, 1.0)
        ),
        "chin_boss": pose.project(
            4.2 * np.cos(ring) + 0 * chin, chin - 4.2 - 0.8 * m[17] + 2.6 * np.sin(ring), 1.0
        ),
        "chin_dent": pose.project(3.0 * u + 0 * chin, chin - 6.6 - m[17] + 0.8 * u**2, 0.5),
    }


def nose(traits: Traits, au: Units, pose: Pose) -> Shapes:
    """Bridge, wings, nostrils, wrinkles and the fold from the nose to the mouth corner."""
    a = _paired(au)
    t = _spread(traits, 2)
    raised = 1.3 * a[9] + 0.4 * a[10]
    bottom = t["nose_y"] - 0.5 * raised  # level of the nostrils
    width = t["nose_width"] * (1 + 0.1 * a[9] + 0.08 * a[12])
    s = np.linspace(0, 1, 8)[None, None]  # bridge → wing
    edge = t["nose_bridge"] + (0.72 * width - t["nose_bridge"]) * s**2.2
    height = -6.0 + (bottom + 5.4) * s
    ridge = pose.project(SIDE * edge, height, lift=1.0 + 4.0 * s**1.5)  # (N, 2, 8, 2)
    angle = _circle(14)
    wing_x = SIDE * (0.74 * width + 0.26 * width * np.cos(angle))
    wing_y = bottom - 0.9 + 1.25 * np.sin(angle)
    hole_x = SIDE * (0.46 * width + 0.26 * width * np.cos(angle))
    hole_y = bottom + 0.15 + 0.42 * np.sin(angle) - 0.25 * np.cos(angle)
    ball_x = 0.55 * width * np.cos(angle) + 0 * SIDE
    ball_y = bottom - 1.3 + 1.6 * np.sin(angle)
    bend = np.linspace(-0.5, 0.55, 7)[None, None] * np.pi  # outer rim of a wing
    rows = np.array([-3.6, -2.2, -0.8])[None, :, None]
    across = np.linspace(-1, 1, 7)[None, None]
    nasal = np.linspace(0, 1, 9)[None, None]
    smile = 0.8 * a[12] + 0.3 * a[10]
    fold_x = width + 0.3 + (t["mouth_width"] + 2.6 + 1.2 * a[12] - width) * nasal**1.1
    fold_y = bottom - 1.6 - raised * 0.5 + (t["mouth_y"] + 1.4 - 2.0 * a[12] - bottom) * nasal
    fold_x = fold_x + 1.5 * smile * np.sin(np.pi * nasal) * (1 - 0.3 * nasal)
    reach = width + 0.9
    region = np.concatenate(
        [
            SIDE * np.array([1.5, 2.0, 2.6])[None, None] + 0 * reach,
            SIDE * reach * np.array([0.95, 1.0, 0.6])[None, None],
        ],
        axis=2,
    )
    levels = np.concatenate(
        [
            np.array([-4.2, -2.0, 0.0])[None, None] + 0 * bottom,
            bottom + np.array([-1.6, 0.5, 1.5])[None, None],
        ],
        axis=2,
    )
    outline = pose.project(region, levels, lift=2.5)
    return {
        "ridge_nose": _loop(ridge[:, 0], ridge[:, 1]),
        "ridge_side": ridge,
        "wing": pose.project(wing_x, wing_y, lift=2.5),
        "wing_rim": pose.project(
            SIDE * (0.76 * width + 0.3 * width * np.cos(bend)),
            bottom - 0.9 + 1.4 * np.sin(bend),
            lift=2.0,
        ),
        "nostril": pose.project(hole_x, hole_y, lift=3.5),
        "ball": pose.project(ball_x, ball_y, lift=5.5)[:, 0],
        "wrinkle": pose.project(
            (2.3 + 0.1 * rows) * across, 1.15 * rows + 0.8 * across**2, lift=2.5
        ),
        "fold": pose.project(SIDE * fold_x, fold_y),
        "nose_region": _loop(outline[:, 0], outline[:, 1]),
    }
