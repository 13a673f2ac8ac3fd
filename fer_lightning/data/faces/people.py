"""Who is drawn, and how the picture is taken: every random trait of a face, with its range."""

import numpy as np
from numpy.typing import NDArray

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


def draw_traits(uniform: NDArray[np.float64]) -> Traits:
    """Turn rows of uniform numbers into traits.

    Args:
        uniform: (N, at least TOTAL) in [0, 1); the first TOTAL columns are used.

    Returns:
        Trait name → (N,), or (N, k) for the names in WIDE.

    >>> traits = draw_traits(np.full((2, TOTAL), 0.5))
    >>> traits["jaw"].round(3).tolist(), traits["strand"].shape
    ([0.815, 0.815], (2, 24))
    """
    traits = {
        name: low + (high - low) * uniform[:, k]
        for k, (name, (low, high)) in enumerate(RANGES.items())
    }
    start = len(RANGES)
    for name, width in WIDE.items():
        traits[name] = uniform[:, start : start + width]
        start += width
    return traits
