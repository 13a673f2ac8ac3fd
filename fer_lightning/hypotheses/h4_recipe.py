"""H4: is one model's lead smaller where both recipes were tuned alike?"""

from pydantic import Field

from fer_lightning.hypotheses.contrast import Question, answer
from fer_lightning.hypotheses.evidence import Evidence
from fer_lightning.hypotheses.registry import Model, TwoModels, hypothesis
from fer_lightning.hypotheses.verdict import Verdict

CAVEAT = (
    "Tuned alike means: as many runs of a sweep over the same ingredients, chosen on validation "
    "images. It says nothing of recipes that were not tried."
)


class TwoRecipes(TwoModels):
    """Two models by the paper's recipe, and the study's names of the same models tuned alike.

    The second model may stand in the study with single ingredients of its tuned recipe, too: with
    one of them at a time, and with more and more of them on the way to the tuned one. The report
    then says how many points of the lead each carries; the verdict does not ask them.
    """

    first_fair: Model = Field(description="the first model, tuned,")
    second_fair: Model = Field(description="the second model, tuned,")
    one_at_a_time: list[Model] = Field(
        default=[], description="models such as [vit_standard, vit_schedule] as one_at_a_time"
    )
    in_order: list[Model] = Field(
        default=[], description="models such as [vit_standard, vit_standard_schedule] as in_order"
    )


@hypothesis("H4", TwoRecipes)
def recipe(asked: TwoRecipes, evidence: Evidence) -> list[Verdict]:
    """Judge at each fraction whether the lead shrinks where both recipes are tuned alike."""
    questions = [
        Question(
            f"the lead of {asked.first} over {asked.second} by the paper's recipe is larger than "
            f"that of {asked.first_fair} over {asked.second_fair} at {100 * fraction:g} % of the "
            "training data",
            f"lead of {asked.first} minus lead of {asked.first_fair} at {100 * fraction:g} %",
            (
                (1, (asked.first, fraction)),
                (-1, (asked.second, fraction)),
                (-1, (asked.first_fair, fraction)),
                (1, (asked.second_fair, fraction)),
            ),
        )
        for fraction in sorted(evidence.fractions)
    ]
    verdicts = answer("H4", questions, evidence, "difference of leads")
    for verdict in verdicts:
        verdict.caveats.append(CAVEAT)
    return verdicts
