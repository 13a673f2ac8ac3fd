"""H1: is one model ahead at each fraction of the data, and is its lead larger with less data?"""

from collections.abc import Sequence

from fer_lightning.hypotheses import paper
from fer_lightning.hypotheses.contrast import Question, answer
from fer_lightning.hypotheses.evidence import Evidence
from fer_lightning.hypotheses.registry import TwoModels, hypothesis
from fer_lightning.hypotheses.verdict import Outcome, Undecided, Verdict, rule_for

PAPER_ON_H1B = (
    f"The paper claims this, yet its own leads are {paper.GAPS[0.3]}, {paper.GAPS[0.6]} and "
    f"{paper.GAPS[1.0]} points at 30, 60 and 100 % of the data."
)


def leads(asked: TwoModels, fractions: Sequence[float]) -> list[Question]:
    """Ask at each fraction whether the first is ahead."""
    first, second = asked.first, asked.second
    return [
        Question(
            f"{first} is ahead of {second} at {100 * fraction:g} % of the training data",
            f"accuracy of {first} minus {second} at {100 * fraction:g} %",
            ((1, (first, fraction)), (-1, (second, fraction))),
        )
        for fraction in sorted(fractions)
    ]


@hypothesis("H1a", TwoModels, by_default=True, questions=leads)
def lead(asked: TwoModels, evidence: Evidence) -> list[Verdict]:
    """H1a: judge whether the first is ahead at each fraction, and then at all of them."""
    each = answer("H1a", leads(asked, evidence.fractions), evidence, "accuracy difference")
    return [*each, _overall(each, asked, evidence)]


def _overall(each: Sequence[Verdict], asked: TwoModels, evidence: Evidence) -> Verdict:
    outcomes = [verdict.outcome for verdict in each]
    outcome: Outcome = "undecided"
    if "not supported" in outcomes:
        outcome = "not supported"
    elif outcomes and set(outcomes) == {"supported"}:
        outcome = "supported"
    counts = {name: outcomes.count(name) for name in dict.fromkeys(outcomes)}
    words = [f"{name} at {count} fraction{'s' * (count > 1)}" for name, count in counts.items()]
    rule = rule_for("accuracy difference", len(each) or 1, evidence.alpha)
    return Verdict(
        "H1a",
        f"{asked.first} is ahead of {asked.second} at every fraction of the training data",
        outcome,
        f"Of {len(each)} {evidence.said_to_be}: {', '.join(words) or 'none'}.",
        "Supported where it is at every fraction, not supported where it is not at one, undecided "
        f"otherwise. At one fraction: {rule}",
        caveats=list(dict.fromkeys(c for verdict in each for c in verdict.caveats)),
        missing=list(dict.fromkeys(c for verdict in each for c in verdict.missing)),
        kind=_kind(each) if outcome == "undecided" else "",
    )


def _kind(each: Sequence[Verdict]) -> Undecided:
    """Say why all fractions together are undecided: what is missing goes before lack of power."""
    kinds = [verdict.kind for verdict in each if verdict.kind]
    return "missing" if "missing" in kinds or not kinds else kinds[0]


def changes_of_lead(asked: TwoModels, fractions: Sequence[float]) -> list[Question]:
    """Ask whether the lead is larger at the smallest fraction than at the largest."""
    first, second = asked.first, asked.second
    low, high = min(fractions, default=1.0), max(fractions, default=1.0)
    if low == high:
        return []
    return [
        Question(
            f"the lead of {first} over {second} is larger at {100 * low:g} % of the training data "
            f"than at {100 * high:g} %",
            f"lead at {100 * low:g} % minus lead at {100 * high:g} %",
            ((1, (first, low)), (-1, (second, low)), (-1, (first, high)), (1, (second, high))),
        )
    ]


@hypothesis("H1b", TwoModels, by_default=True, questions=changes_of_lead)
def change_of_lead(asked: TwoModels, evidence: Evidence) -> list[Verdict]:
    """H1b: judge whether the lead is larger at the smallest fraction than at the largest."""
    questions = changes_of_lead(asked, evidence.fractions)
    if not questions:
        return [
            Verdict(
                "H1b",
                f"the lead of {asked.first} over {asked.second} is larger with less training data",
                "undecided",
                "A change of the lead needs two fractions and the study has one.",
                rule_for("change of the lead", 1, evidence.alpha),
                kind="missing",
            )
        ]
    verdicts = answer("H1b", questions, evidence, "change of the lead")
    for verdict in verdicts:
        verdict.caveats.append(PAPER_ON_H1B)
    return verdicts
