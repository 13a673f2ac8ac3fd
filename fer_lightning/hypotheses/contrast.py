"""Accuracies added and subtracted, judged: the common part of H1a, H1b and H3."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from fer_lightning.hypotheses.evidence import Cell, Evidence, Group, Key, align, missing_cells
from fer_lightning.hypotheses.verdict import (
    MORE_SEEDS,
    ONE_TRAINING,
    Row,
    Undecided,
    Verdict,
    adjust,
    in_words,
    judge,
    no_power,
    row_of,
    rule_for,
    seed_caveats,
    seed_rows,
    trainings_row,
)
from fer_lightning.statistics import (
    ALPHA,
    Comparison,
    compare_sum,
    family_level,
    family_resamples,
)


class Question(NamedTuple):
    """A statement that holds where a sum of accuracies is positive."""

    statement: str
    name: str  # of the sum, for the table
    terms: tuple[tuple[int, Group], ...]  # to add, such as ((1, ("cnn", 0.3)), (-1, ("vit", 0.3)))


def answer(
    hypothesis: str, questions: Sequence[Question], evidence: Evidence, what: str
) -> list[Verdict]:
    """Judge the questions of one hypothesis, which are one family; `what` names the sum."""
    m, cells, alpha = len(questions), evidence.cells, evidence.alpha
    found = [contrast(question, cells, evidence.seeds, m, alpha) for question in questions]
    there = [one for one in found if one is not None]
    adjusted = iter(adjust([one.row for one in there], m))
    beside = iter(adjust([one.trainings_row for one in there], m))
    rule = rule_for(what, m, alpha)
    verdicts = []
    for question, result in zip(questions, found, strict=True):
        missing = missing_cells(cells, [group for _, group in question.terms], evidence.seeds)
        lacking = f"Missing: {', '.join(missing) or 'planned seeds'}."
        if result is None:
            verdict = Verdict(
                hypothesis, question.statement, "undecided", lacking, rule, kind="missing"
            )
        else:
            row, of_trainings = next(adjusted), next(beside)
            outcome = judge(result.comparison, float(row["p_bonferroni"]), alpha)
            reason = f"{question.name}: {in_words(row)}."
            kind: Undecided = "missing" if missing else ""
            if result.comparison.seeds == 1:
                kind = "missing"
                reason = f"{ONE_TRAINING} For these: {question.name} {in_words(of_trainings)}."
                reason += "" if missing else f" {MORE_SEEDS}"
            elif not missing and outcome == "undecided":
                kind, reason = "no power", f"{reason} {no_power(result.comparison, 'points')}"
            verdict = Verdict(
                hypothesis,
                question.statement,
                "undecided" if missing else outcome,
                f"{lacking} So far: {reason}" if missing else reason,
                rule,
                [row, of_trainings, *result.seed_rows],
                seed_caveats(result.comparison) + result.caveats,
                kind=kind,
            )
        verdicts.append(replace(verdict, missing=missing))
    return verdicts


class Contrast(NamedTuple):
    """A sum of accuracies compared with 0, as rows for the architecture and for trainings."""

    comparison: Comparison
    row: Row
    trainings_row: Row
    seed_rows: list[Row]
    caveats: list[str]

    @property
    def shown(self) -> Row:
        """For the architecture; of one training, for this training."""
        return self.row if self.comparison.seeds > 1 else self.trainings_row


def contrast(
    question: Question,
    cells: Mapping[Key, Cell],
    seeds: Sequence[int],
    tests: int = 1,
    alpha: float = ALPHA,
) -> Contrast | None:
    """Compare one of so many sums; None where no seed is common to all its terms."""
    found = align(cells, [group for _, group in question.terms], seeds, lambda cell: cell.correct)
    if found is None:
        return None
    level, resamples = family_level(tests, alpha), family_resamples(tests, alpha)
    signs = [sign for sign, _ in question.terms]
    comparison = compare_sum(list(zip(signs, found.values, strict=True)), level, resamples)
    caveat = f"{found.left_out} images that not all cells were tested on are left out."
    return Contrast(
        comparison,
        row_of(question.name, comparison),
        trainings_row(question.name, comparison),
        seed_rows(question.name, comparison, found.seeds),
        [caveat] if found.left_out else [],
    )
