"""The numbers the paper prints, as data: "The Inductive Bias Gap".

It prints no absolute accuracy, no LSI value and no transfer experiment, so gaps, gains and the LFR
table are all there is to compare with.
"""

from typing import NamedTuple

SOURCE = "The Inductive Bias Gap, means of 3 repeats, FER-2013"
GAPS = {0.3: 9.2, 0.6: 16.5, 1.0: 19.2}  # points by which the CNN leads the ViT, by fraction
GAINS = {"cnn": 18.4, "vit": 8.4}  # points from 30 to 100 % of the data
KEY_RATIO = 2.15  # LFR of KEY, CNN over ViT, as its text says; its table gives 2.144
IMAGES = 200  # N of its LFR table


class FocusRow(NamedTuple):
    """A row of its LFR table; shares in percent."""

    region: str
    cnn_mean: float
    cnn_sd: float
    vit_mean: float
    vit_sd: float
    cnn_share_ge_1: float
    vit_share_ge_1: float
    cohen_d: float


FOCUS = (
    FocusRow("eyes", 1.556, 0.495, 0.874, 0.222, 87.0, 27.5, 1.777),
    FocusRow("mouth", 1.931, 0.750, 0.865, 0.254, 98.5, 26.0, 1.903),
    FocusRow("eyebrow", 1.372, 0.530, 0.856, 0.278, 75.0, 27.5, 1.218),
    FocusRow("nose", 1.497, 0.425, 0.769, 0.209, 92.0, 11.0, 2.171),
    FocusRow("key", 1.846, 0.358, 0.861, 0.213, 100.0, 26.0, 3.345),
    FocusRow("all", 1.896, 0.398, 0.828, 0.216, 100.0, 18.0, 3.335),
)
