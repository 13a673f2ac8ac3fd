"""Who is drawn, and how the picture is taken: every random trait of a face, with its range."""

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.labels import FER_CLASSES

Traits = dict[str, NDArray[np.float64]]

# Uniform ranges; lengths in pixels of a 48x48 image, angles in radians, tones in grey levels.
RANGES: dict[str, tuple[float, float]] = {
    # expression
    "form": (0, 1),
    "intensity": (0, 1),
    "blend": (0, 1),
    "blend_class": (0, 1),
    "blend_form": (0, 1),
    "blend_share": (0, 1),
    # head
    "face_width": (16.4, 18.8),
    "chin": (19.8, 22.6),
    "jaw": (0.68, 0.95),
    "taper": (0.02, 0.2),
    "age": (0, 1),
    "skin": (0, 1),
    # eyes and brows
    "eye_x": (7.9, 9.3),
    "eye_y": (-6.6, -5.2),
    "eye_width": (3.9, 4.6),
    "eye_open": (0.8, 1.2),
    "eye_cant": (-0.5, 0.35),
    "iris": (20, 110),
    "gaze_x": (-1.3, 1.3),
    "gaze_y": (-0.4, 0.5),
    "brow_gap": (3.9, 5.6),
    "brow_arch": (0.3, 1.6),
    "brow_slope": (-0.7, 0.8),
    "brow_thick": (0.5, 1.25),
    "brow_dark": (0.45, 0.95),
    # nose and mouth
    "nose_y": (3.4, 5.4),
    "nose_width": (3.0, 4.4),
    "nose_bridge": (0.9, 1.6),
    "mouth_y": (10.8, 12.8),
    "mouth_width": (6.0, 7.9),
    "mouth_bow": (-0.5, 0.5),
    "lip_upper": (0.9, 1.9),
    "lip_lower": (1.2, 2.4),
    "lip_dark": (0.6, 0.88),
    # hair
    "hair_style": (0, 1),
    "hair_tone": (0, 1),
    "hair_line": (-21.0, -16.5),
    "hair_volume": (0.5, 3.5),
    "hair_part": (-1, 1),
    "beard": (0, 1),
    "moustache": (0, 1),
    # things in the way
    "glasses": (0, 1),
    "glasses_size": (0.9, 1.15),
    "hand": (0, 1),
    "hand_x": (-1, 1),
    "hand_y": (0, 1),
    "hand_angle": (-0.6, 0.6),
    # pose and camera
    "yaw": (-1, 1),
    "pitch": (-1, 1),
    "roll": (-1, 1),
    "zoom": (-1, 1),
    "shift_x": (-1, 1),
    "shift_y": (-1, 1),
    "light_x": (-1, 1),
    "light_y": (-1, 0.25),
    "light_hard": (0.25, 0.7),
    "exposure": (0, 1),
    "contrast": (0.85, 1.3),
    "blur": (0, 1),
    "noise": (0, 1),
    "background": (0, 1),
    "clothes": (0, 1),
    # label and cue
    "class": (0, 1),
    "other": (0, 1),
    "cue_agrees": (0, 1),
    "cue_else": (0, 1),
    "cue_phase": (0, 1),
}
WIDE = {"unit_habit": 17, "unit_uneven": 17, "strand": 24, "clutter": 40}  # (N, k) in [0, 1)
TOTAL = len(RANGES) + sum(WIDE.values())


# Facial action units, numbered as in FACS (Ekman and Friesen, 1978).
UNITS = {
    1: "inner brow raiser",
    2: "outer brow raiser",
    4: "brow lowerer",
    5: "upper lid raiser",
    6: "cheek raiser",
    7: "lid tightener",
    9: "nose wrinkler",
    10: "upper lip raiser",
    12: "lip corner puller",
    15: "lip corner depressor",
    16: "lower lip depressor",
    17: "chin raiser",
    20: "lip stretcher",
    24: "lip pressor",
    25: "lips part",
    26: "jaw drop",
    43: "eyes closed",
}

# Each expression has several forms, so that no single unit, and no single pixel, gives it away.
FORMS: dict[str, tuple[dict[int, float], ...]] = {
    "angry": (
        {4: 1.0, 5: 0.4, 7: 0.7, 24: 1.0, 17: 0.3},
        {4: 1.0, 7: 0.8, 9: 0.3, 10: 0.6, 16: 0.8, 25: 0.9, 20: 0.3},
        {4: 1.0, 5: 0.6, 7: 0.3, 10: 0.4, 25: 1.0, 26: 0.8},
        {4: 0.9, 7: 0.6, 15: 0.5, 24: 0.6},
    ),
    "disgust": (
        {4: 0.5, 7: 0.5, 9: 1.0, 10: 0.7, 15: 0.4, 17: 0.7},
        {4: 0.4, 6: 0.4, 7: 0.5, 9: 1.0, 10: 1.0, 25: 0.7},
        {7: 0.4, 9: 0.8, 10: 0.9, 15: 0.7, 16: 0.6, 25: 0.6},
        {4: 0.3, 9: 0.9, 10: 0.6, 43: 0.5, 15: 0.5, 26: 0.4, 25: 0.6},
    ),
    "fear": (
        {1: 1.0, 2: 0.5, 4: 0.6, 5: 1.0, 20: 1.0, 25: 0.6},
        {1: 1.0, 2: 0.6, 4: 0.6, 5: 1.0, 20: 0.7, 25: 1.0, 26: 0.7},
        {1: 0.9, 2: 0.3, 4: 0.7, 5: 0.9, 20: 0.7, 7: 0.2},
    ),
    "happy": (
        {6: 0.6, 12: 0.9},
        {6: 0.7, 12: 1.0, 25: 0.9},
        {6: 1.0, 12: 1.0, 25: 1.0, 26: 0.6},
        {6: 0.9, 7: 0.3, 12: 1.0, 10: 0.3, 25: 0.8, 1: 0.2, 2: 0.2},
    ),
    "sad": (
        {1: 1.0, 4: 0.5, 15: 1.0},
        {1: 0.9, 4: 0.5, 15: 0.8, 17: 0.8, 43: 0.35},
        {1: 0.9, 4: 0.7, 7: 0.5, 15: 0.9, 20: 0.3, 25: 0.6},
        {1: 0.7, 43: 0.5, 15: 0.7},
    ),
    "surprise": (
        {1: 1.0, 2: 1.0, 5: 0.8, 25: 1.0, 26: 1.0},
        {1: 1.0, 2: 1.0, 5: 1.0, 25: 0.7, 26: 0.45},
        {1: 0.8, 2: 0.9, 5: 0.6, 25: 1.0, 26: 0.8, 12: 0.25},
    ),
    "neutral": ({}, {24: 0.2}, {43: 0.15}, {25: 0.2}),
}


def draw_traits(uniform: NDArray[np.float64]) -> Traits:
    """Turn rows of uniform numbers, (N, TOTAL) in [0, 1), into traits: (N,), WIDE ones (N, k)."""
    traits = {
        name: low + (high - low) * uniform[:, k]
        for k, (name, (low, high)) in enumerate(RANGES.items())
    }
    start = len(RANGES)
    for name, width in WIDE.items():
        traits[name] = uniform[:, start : start + width]
        start += width
    return traits


def strengths(
    expression: NDArray[np.int64], traits: Traits, difficulty: float
) -> dict[int, NDArray[np.float64]]:
    """Give every action unit's strength, 0 to about 1.2: FACS number → (N, 2), left and right.

    The expressions, (N,), are class indices; harder faces are fainter and blended more with another
    expression.
    """
    numbers = list(UNITS)
    table = np.zeros((len(FER_CLASSES), 4, len(numbers)))  # class, form, unit
    for c, name in enumerate(FER_CLASSES):
        for form in range(4):
            chosen = FORMS[name][form % len(FORMS[name])]
            table[c, form, [numbers.index(n) for n in chosen]] = list(chosen.values())

    faintest = 0.8 - 0.6 * difficulty
    intensity = faintest + (1.1 - faintest) * traits["intensity"]
    other = (expression + 1 + np.floor(traits["blend_class"] * 6).astype(np.int64)) % 7
    blended = traits["blend"] < 0.5 * difficulty
    share = np.where(blended, 0.1 + 0.3 * traits["blend_share"], 0.0)
    pure = table[expression, np.floor(traits["form"] * 4).astype(np.int64)]
    mixed = table[other, np.floor(traits["blend_form"] * 4).astype(np.int64)]
    units = (1 - share)[:, None] * intensity[:, None] * pure + share[:, None] * mixed  # (N, U)

    habit = 0.35 * difficulty * np.maximum(traits["unit_habit"] - 0.4, 0)  # (N, U) resting tension
    uneven = 1 + 0.3 * (traits["unit_uneven"] - 0.5)  # (N, U), the left half against the right
    sides = np.stack([(units + habit) * uneven, (units + habit) * (2 - uneven)], axis=2)
    return {number: sides[:, k] for k, number in enumerate(numbers)}
