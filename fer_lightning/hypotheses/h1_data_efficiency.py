"""H1: is one model ahead at each fraction of the data, and is its lead larger with less data?"""

from collections.abc import Sequence

from fer_lightning.hypotheses import paper
from fer_lightning.hypotheses.contrast import Question, answer
from fer_lightning.hypotheses.evidence import Evidence
from fer_lightning.hypotheses.registry import TwoModels, hypothesis
from fer_lightning.hypotheses.verdict import Outcome, Verdict, rule_for

PAPER_ON_H1B = (
    f"The paper claims this, yet its own leads are {paper.GAPS[0.3]}, {paper.GAPS[0.6]} and "
    f"{paper.GAPS[1.0]} points at 30, 60 and 100 % of the data."
)


@hypothesis("H1a", TwoModels, by_default=True)
def lead(asked: TwoModels, evidence: Evidence) -> list[Verdict]:
    """H1a: judge whether the first is ahead at each fraction, and then at all of them."""
    first, second = asked.first, asked.second
    questions = [
        Question(
            f"{first} is ahead of {second} at {100 * fraction:g} % of the training data",
            f"accuracy of {first} minus {second} at {100 * fraction:g} %",
            ((1, (first, fraction)), (-1, (second, fraction))),
        )
        for fraction in sorted(evidence.fractions)
    ]
    each = answer("H1a", questions, evidence, "accuracy difference")
    return [*each, _overall(each, first, second, evidence.alpha)]


def _overall(each: Sequence[Verdict], first: str, second: str, alpha: float) -> Verdict:
    outcomes = [verdict.outcome for verdict in each]
    outcome: Outcome = "undecided"
    if "not supported" in outcomes:
        outcome = "not supported"
    elif outcomes and set(outcomes) == {"supported"}:
        outcome = "supported"
    counts = {name: outcomes.count(name) for name in dict.fromkeys(outcomes)}
    words = [f"{name} at {count} fraction{'s' * (count > 1)}" for name, count in counts.items()]
    return Verdict(
        "H1a",
        f"{first} is ahead of {second} at every fraction of the training data",
        outcome,
        f"Of {len(each)} planned: {', '.join(words) or 'none planned'}.",
        "Supported where it is at every fraction, not supported where it is not at one, undecided "
        f"otherwise. At one fraction: {rule_for('accuracy difference', len(each) or 1, alpha)}",
        caveats=list(dict.fromkeys(c for verdict in each for c in verdict.caveats)),
        missing=list(dict.fromkeys(c for verdict in each for c in verdict.missing)),
    )


@hypothesis("H1b", TwoModels, by_default=True)
def change_of_lead(asked: TwoModels, evidence: Evidence) -> list[Verdict]:
    """H1b: judge whether the lead is larger at the smallest fraction than at the largest."""
    first, second = asked.first, asked.second
    low, high = min(evidence.fractions, default=1.0), max(evidence.fractions, default=1.0)
    statement = (
        f"the lead of {first} over {second} is larger at {100 * low:g} % of the training data than "
        f"at {100 * high:g} %"
    )
    if low == high:
        return [
            Verdict(
                "H1b",
                f"the lead of {first} over {second} is larger with less training data",
                "undecided",
                "A change of the lead needs two fractions and the study has one.",
                rule_for("change of the lead", 1, evidence.alpha),
            )
        ]
    question = Question(
        statement,
        f"lead at {100 * low:g} % minus lead at {100 * high:g} %",
        ((1, (first, low)), (-1, (second, low)), (-1, (first, high)), (1, (second, high))),
    )
    verdicts = answer("H1b", [question], evidence, "change of the lead")
    for verdict in verdicts:
        verdict.caveats.append(PAPER_ON_H1B)
    return verdicts
