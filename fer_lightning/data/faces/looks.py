"""Tones, wrinkles and camera of each face: all of its look that is a single number."""

import numpy as np

from fer_lightning.data.faces.hair import BALD, CROPPED, PARTED
from fer_lightning.data.faces.people import Traits
from fer_lightning.data.faces.shapes import Units


def tones(traits: Traits, au: Units, difficulty: float) -> Traits:
    """Everything about a face's look that is a number, (N,) each, from its traits and units."""
    m = {k: v.mean(1) for k, v in au.items()}
    t = traits
    skin = 92 + 113 * t["skin"] ** 0.6
    style, tone = t["hair_style"], t["hair_tone"]
    hair = np.where(tone < 0.65, 14 + 60 * tone, np.where(tone < 0.85, 90 + 80 * tone, 190 * tone))
    hair = np.minimum(hair, 0.9 * skin)
    hair = np.where(style < CROPPED, 0.5 * hair + 0.4 * skin, hair)
    part = np.clip(m[25], 0, 1.2)
    male = style < 0.5
    return {
        "skin": skin,
        "hair": hair,
        "brow": np.minimum(hair, 80) * 0.5 + (1 - t["brow_dark"]) * 0.5 * skin,
        "iris": t["iris"],
        "lips": skin * t["lip_dark"],
        "clothes": 20 + 220 * t["clothes"],
        "open": part * (1.2 + 4.6 * m[26] + 1.6 * m[16] + 1.0 * m[10] + 1.3 * m[12]),
        "long": (style >= PARTED).astype(float),
        "bald": (style < BALD).astype(float),
        "comb": 2 * t["hair_part"],
        "moustache": (male & (t["moustache"] < 0.25)).astype(float),
        "beard": np.where(male & (t["beard"] < 0.35), 0.3 + 1.5 * t["beard"], 0.0),
        "smile": np.clip(m[12] * 0.7 + m[6] * 0.6, 0, 1.3),
        "frown": np.clip(m[4] * 0.9 + 0.1 * t["age"] - 0.1 * m[2], 0, 1.2),
        "raise": np.clip(0.6 * (m[1] + m[2]) * (0.4 + 0.8 * t["age"]), 0, 1.2),
        "wrinkle": np.clip(m[9], 0, 1.2),
        "chin": np.clip(m[17], 0, 1.2),
        "fold": np.clip(0.25 * t["age"] + 0.8 * m[12] + 0.7 * m[9] + 0.6 * m[10], 0, 1.2),
        "bag": np.clip(0.3 * t["age"] + 0.5 * m[6] + 0.4 * m[7], 0, 1.2),
        "glasses": (t["glasses"] < 0.26 * difficulty).astype(float),
        "glasses_size": t["glasses_size"],
        "frame": np.where(t["glasses"] < 0.2 * difficulty, 25.0, 120.0),
        "frame_width": 0.5 + 0.5 * t["age"],
        "hand": (t["hand"] < 0.12 * difficulty).astype(float),
        "hand_x": t["hand_x"],
        "hand_y": t["hand_y"],
        "hand_angle": t["hand_angle"],
        "light_x": t["light_x"] * 0.9,
        "light_y": t["light_y"] * 0.8,
        "light_hard": t["light_hard"],
        "gloss": 10 + 35 * t["exposure"],
        "background": 15 + 230 * t["background"],
        "contrast": t["contrast"],
        "brightness": 10 + 35 * (t["exposure"] - 0.5),
        "blur": 0.7 * difficulty * t["blur"] ** 2,
        "noise": 1.5 + 8 * difficulty * t["noise"] ** 2,
    }
