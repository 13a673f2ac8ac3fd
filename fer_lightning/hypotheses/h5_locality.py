"""H5: does a locality prior close at least half of the gap that equal tuning leaves?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, Field

from fer_lightning.hypotheses.contrast import Question, answer
from fer_lightning.hypotheses.evidence import Evidence
from fer_lightning.hypotheses.registry import Model, TwoModels, hypothesis
from fer_lightning.hypotheses.verdict import Verdict
from fer_lightning.runs.run import Run

SIZES = 1.2  # times as many parameters count as the same size
RULE = (
    " Half of the gap is closed where twice the accuracy of the model with the prior is above the "
    "sum of the two others'. This is asked only where there is a gap: where the mark's lead is "
    "itself not supported by the same rule, there is nothing to close and the verdict is undecided."
)


def _different(given: list[str]) -> list[str]:
    if len(set(given)) < len(given):
        raise ValueError(f"expected different models with a locality prior but got {given!r:.80}")
    return given


class Locality(TwoModels):
    """The mark (`first`), the model without a prior (`second`), and those that have one."""

    models: Annotated[list[Model], AfterValidator(_different)] = Field(
        min_length=1, description="models with a locality prior, such as [hybrid_vit, swin],"
    )


@hypothesis("H5", Locality)
def locality(asked: Locality, evidence: Evidence) -> list[Verdict]:
    """Judge each model with a prior at each fraction."""
    fractions = sorted(evidence.fractions)
    gaps = answer(
        "H5",
        [
            Question(
                f"{asked.first} is ahead of {asked.second} at {100 * fraction:g} %",
                f"gap between {asked.first} and {asked.second} at {100 * fraction:g} %",
                ((1, (asked.first, fraction)), (-1, (asked.second, fraction))),
            )
            for fraction in fractions
        ],
        evidence,
        "gap",
    )
    places = [(model, gap) for model in asked.models for gap in zip(fractions, gaps, strict=True)]
    questions = [
        Question(
            f"{model} closes at least half of the gap between {asked.first} and {asked.second} at "
            f"{100 * fraction:g} % of the training data",
            f"twice {model} minus {asked.first} minus {asked.second} at {100 * fraction:g} %",
            (
                (2, (model, fraction)),
                (-1, (asked.first, fraction)),
                (-1, (asked.second, fraction)),
            ),
        )
        for model, (fraction, _) in places
    ]
    closed = answer("H5", questions, evidence, "sum")
    return [
        _judged(verdict, gap, _sizes(evidence.runs, model, asked.second))
        for verdict, (model, (_, gap)) in zip(closed, places, strict=True)
    ]


def _judged(verdict: Verdict, gap: Verdict, sizes: list[str]) -> Verdict:
    """Ask for a gap first, and set it beside what was closed of it."""
    beside = [{**row, "kind": "check"} for row in gap.numbers[:1]]
    verdict = replace(
        verdict,
        rule=verdict.rule + RULE,
        numbers=[*verdict.numbers, *beside],
        caveats=[*verdict.caveats, *sizes],
    )
    if verdict.kind == "missing" or gap.outcome == "supported":
        return verdict
    reason = f"No gap to close: {gap.reason} Beside it, {verdict.reason}"
    return replace(verdict, outcome="undecided", kind="no effect", reason=reason)


def _sizes(runs: Sequence[Run], model: str, other: str) -> list[str]:
    """Say that a model is not of the other's size, where the runs tell."""
    sizes = {run.model: run.summary.get("parameters") for run in runs}
    mine, theirs = sizes.get(model), sizes.get(other)
    if not isinstance(mine, int) or not isinstance(theirs, int):
        return []
    if max(mine, theirs) <= SIZES * min(mine, theirs):
        return []
    return [f"Not of equal size: {model} has {mine:,} parameters, {other} {theirs:,}."]
