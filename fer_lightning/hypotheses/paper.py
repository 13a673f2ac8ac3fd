"""The numbers the paper prints, as data, and ours beside them: "The Inductive Bias Gap".

It prints no absolute accuracy, no LSI value and no transfer experiment, so gaps, gains and the LFR
table are all there is to compare with.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fer_lightning.hypotheses.contrast import Question, contrast
from fer_lightning.hypotheses.evidence import Cell, Key
from fer_lightning.hypotheses.verdict import Row
from fer_lightning.statistics import ALPHA

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
NAN = float("nan")
UNKNOWN: Row = {"estimate": NAN, "low": NAN, "high": NAN, "level": NAN, "seeds": 0, "n": 0}


def gaps_and_gains(
    cells: Mapping[Key, Cell],
    first: str,
    second: str,
    fractions: Sequence[float],
    seeds: Sequence[int],
    alpha: float = ALPHA,
) -> list[Row]:
    """Put the leads at each fraction and the gains from 30 to 100 % beside the paper's, in points.

    Returns:
        Rows with `quantity`, `paper`, `ours`, `low`, `high`, `level`, `apart` (ours minus the
        paper's), `seeds` and `n`; NaN for what one side does not have. Intervals are for the
        architecture, with one seed for these trainings.
    """
    questions = [
        (
            f"lead of {first} over {second} at {100 * fraction:g} %",
            GAPS.get(fraction, NAN),
            ((1, (first, fraction)), (-1, (second, fraction))),
        )
        for fraction in sorted({*fractions, *GAPS})
    ]
    questions += [
        (
            f"gain of {model} from 30 to 100 %",
            GAINS[role],
            ((1, (model, 1.0)), (-1, (model, 0.3))),
        )
        for model, role in ((first, "cnn"), (second, "vit"))
    ]
    rows: list[Row] = []
    for quantity, theirs, terms in questions:
        found = contrast(Question("", quantity, terms), cells, seeds, alpha=alpha)
        row = UNKNOWN if found is None else found.shown
        rows.append(
            {
                "quantity": quantity,
                "paper": theirs,
                "ours": row["estimate"],
                **{name: row[name] for name in ("low", "high", "level")},
                "apart": float(row["estimate"]) - theirs,
                **{name: row[name] for name in ("seeds", "n")},
            }
        )
    return rows
