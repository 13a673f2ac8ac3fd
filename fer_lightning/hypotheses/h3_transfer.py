"""H3: do pre-trained features help one model less than the other?"""

from collections.abc import Sequence

from pydantic import Field

from fer_lightning.hypotheses.contrast import Question, answer
from fer_lightning.hypotheses.evidence import Evidence
from fer_lightning.hypotheses.registry import Model, TwoModels, hypothesis
from fer_lightning.hypotheses.verdict import Verdict

CAVEAT = (
    "A gain is the accuracy pre-trained minus from scratch; it depends on what the weights "
    "were trained on, which differs between published models."
)


class TwoTransfers(TwoModels):
    """Two models from scratch, and the study's names of the same models pre-trained."""

    first_pretrained: Model = Field(description="the first model, pre-trained,")
    second_pretrained: Model = Field(description="the second model, pre-trained,")


def gains(asked: TwoTransfers, fractions: Sequence[float]) -> list[Question]:
    """Ask at each fraction whether the first gains more from pre-training than the second."""
    return [
        Question(
            f"pre-training helps {asked.second} less than {asked.first} at "
            f"{100 * fraction:g} % of the training data",
            f"gain of {asked.first} minus gain of {asked.second} at {100 * fraction:g} %",
            (
                (1, (asked.first_pretrained, fraction)),
                (-1, (asked.first, fraction)),
                (-1, (asked.second_pretrained, fraction)),
                (1, (asked.second, fraction)),
            ),
        )
        for fraction in sorted(fractions)
    ]


@hypothesis("H3", TwoTransfers, questions=gains)
def transfer(asked: TwoTransfers, evidence: Evidence) -> list[Verdict]:
    """Judge at each fraction whether the first gains more from pre-training than the second."""
    verdicts = answer("H3", gains(asked, evidence.fractions), evidence, "difference of gains")
    for verdict in verdicts:
        verdict.caveats.append(CAVEAT)
    return verdicts
