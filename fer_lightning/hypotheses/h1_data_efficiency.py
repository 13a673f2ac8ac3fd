"""H1: is one model ahead at each fraction of the data, and is its lead larger with less data?"""

from collections.abc import Mapping, Sequence

from fer_lightning.hypotheses import paper
from fer_lightning.hypotheses.contrast import Question, answer
from fer_lightning.hypotheses.evidence import Cell, Key
from fer_lightning.hypotheses.verdict import Outcome, Verdict, rule_for
from fer_lightning.statistics import ALPHA

PAPER_ON_H1B = (
    f"The paper claims this, yet its own leads are {paper.GAPS[0.3]}, {paper.GAPS[0.6]} and "
    f"{paper.GAPS[1.0]} points at 30, 60 and 100 % of the data."
)


def lead(
    cells: Mapping[Key, Cell],
    first: str,
    second: str,
    fractions: Sequence[float],
    seeds: Sequence[int],
    alpha: float = ALPHA,
) -> list[Verdict]:
    """H1a: judge the lead at each fraction, and then over all of them.

    Args:
        cells: as `by_key` gives them.
        first: the model said to be ahead.
        second: the other.
        fractions: planned ones.
        seeds: planned ones.
        alpha: of all fractions together.
    """
    questions = [
        Question(
            f"{first} is ahead of {second} at {100 * fraction:g} % of the training data",
            f"accuracy of {first} minus {second} at {100 * fraction:g} %",
            ((1, (first, fraction)), (-1, (second, fraction))),
        )
        for fraction in sorted(fractions)
    ]
    each = answer("H1a", questions, cells, seeds, "accuracy difference", alpha)
    return [*each, _overall(each, first, second, alpha)]


def _overall(each: Sequence[Verdict], first: str, second: str, alpha: float) -> Verdict:
    outcomes = [verdict.outcome for verdict in each]
    outcome: Outcome = "undecided"
    if "not supported" in outcomes:
        outcome = "not supported"
    elif outcomes and set(outcomes) == {"supported"}:
        outcome = "supported"
    counts = {name: outcomes.count(name) for name in dict.fromkeys(outcomes)}
    told = (
        ", ".join(
            f"{name} at {count} fraction{'s' * (count > 1)}" for name, count in counts.items()
        )
        or "none planned"
    )
    return Verdict(
        "H1a",
        f"{first} is ahead of {second} at every fraction of the training data",
        outcome,
        f"Of {len(each)} planned: {told}.",
        "Supported where it is at every fraction, not supported where it is not at one, undecided "
        f"otherwise. At one fraction: {rule_for('accuracy difference', len(each) or 1, alpha)}",
        caveats=list(dict.fromkeys(c for verdict in each for c in verdict.caveats)),
        missing=list(dict.fromkeys(c for verdict in each for c in verdict.missing)),
    )


def change_of_lead(
    cells: Mapping[Key, Cell],
    first: str,
    second: str,
    fractions: Sequence[float],
    seeds: Sequence[int],
    alpha: float = ALPHA,
) -> list[Verdict]:
    """H1b: judge whether the lead is larger at the smallest fraction than at the largest.

    Arguments as for `lead`.
    """
    low, high = min(fractions, default=1.0), max(fractions, default=1.0)
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
                rule_for("change of the lead", 1, alpha),
            )
        ]
    question = Question(
        statement,
        f"lead at {100 * low:g} % minus lead at {100 * high:g} %",
        ((1, (first, low)), (-1, (second, low)), (-1, (first, high)), (1, (second, high))),
    )
    verdicts = answer("H1b", [question], cells, seeds, "change of the lead", alpha)
    for verdict in verdicts:
        verdict.caveats.append(PAPER_ON_H1B)
    return verdicts
