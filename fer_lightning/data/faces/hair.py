"""Hair: short, cropped, with a fringe, parted, long or none."""

import numpy as np

from fer_lightning.data.faces.head import outline
from fer_lightning.data.faces.people import Traits
from fer_lightning.data.faces.pose import Pose
from fer_lightning.data.faces.shapes import Shapes, Units, loop, spread

BALD, CROPPED, SHORT, FRINGE, PARTED = 0.04, 0.13, 0.34, 0.48, 0.62  # hair_style below: kind
SIDE_POINTS, TOP_POINTS = 5, 29


def hair(traits: Traits, au: Units, pose: Pose) -> Shapes:
    """Outer edge (crown) and inner edge (hairline) of the hair, and the area between them."""
    t = spread(traits, 1)
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
    top_x, top_y = outline(over, traits, au, lift + curl)
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
    return {"crown": crown, "hairline": hairline, "hair": loop(crown, hairline)}
