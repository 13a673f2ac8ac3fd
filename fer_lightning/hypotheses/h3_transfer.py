"""H3: do pre-trained features help one model less than the other?"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fer_lightning.hypotheses.contrast import Question, answer
from fer_lightning.hypotheses.evidence import Cell, Key
from fer_lightning.hypotheses.verdict import Verdict
from fer_lightning.statistics import ALPHA


class Pair(NamedTuple):
    """The study's names of one architecture from scratch and pre-trained."""

    scratch: str
    pretrained: str


def transfer(
    cells: Mapping[Key, Cell],
    first: Pair,
    second: Pair,
    fractions: Sequence[float],
    seeds: Sequence[int],
    alpha: float = ALPHA,
) -> list[Verdict]:
    """Judge at each fraction whether the first gains more from pre-training than the second.

    Args:
        cells: as `by_key` gives them.
        first: said to gain more, such as the CNN.
        second: said to gain less.
        fractions: planned ones.
        seeds: planned ones.
        alpha: of all fractions together.
    """
    questions = [
        Question(
            f"pre-training helps {second.scratch} less than {first.scratch} at "
            f"{100 * fraction:g} % of the training data",
            f"gain of {first.scratch} minus gain of {second.scratch} at {100 * fraction:g} %",
            (
                (1, (first.pretrained, fraction)),
                (-1, (first.scratch, fraction)),
                (-1, (second.pretrained, fraction)),
                (1, (second.scratch, fraction)),
            ),
        )
        for fraction in sorted(fractions)
    ]
    verdicts = answer("H3", questions, cells, seeds, "difference of gains", alpha)
    for verdict in verdicts:
        verdict.caveats.append(
            "A gain is the accuracy pre-trained minus from scratch; it depends on what the weights "
            "were trained on, which differs between published models."
        )
    return verdicts
