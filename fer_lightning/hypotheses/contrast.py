"""Accuracies added and subtracted, judged: the common part of H1a, H1b and H3."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from fer_lightning.hypotheses.evidence import Cell, Evidence, Group, Key, align, missing_cells
from fer_lightning.hypotheses.verdict import (
    Row,
    Verdict,
    adjust,
    in_words,
    judge,
    row_of,
    rule_for,
    seed_caveats,
    seed_rows,
)
from fer_lightning.statistics import (
    ALPHA,
    Comparison,
    compare,
    compare_differences,
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
    adjusted = iter(adjust([one.row for one in found if one is not None], m))
    rule = rule_for(what, m, alpha)
    verdicts = []
    for question, result in zip(questions, found, strict=True):
        missing = missing_cells(cells, [group for _, group in question.terms], evidence.seeds)
        lacking = f"Missing: {', '.join(missing) or 'planned seeds'}."
        if result is None:
            verdict = Verdict(hypothesis, question.statement, "undecided", lacking, rule)
        else:
            row = next(adjusted)
            outcome = judge(result.comparison, float(row["p_bonferroni"]), alpha)
            reason = f"{question.name}: {in_words(row)}."
            verdict = Verdict(
                hypothesis,
                question.statement,
                "undecided" if missing else outcome,
                f"{lacking} So far, {reason}" if missing else reason,
                rule,
                [row, *result.seed_rows],
                seed_caveats(result.comparison) + result.caveats,
            )
        verdicts.append(replace(verdict, missing=missing))
    return verdicts


class Contrast(NamedTuple):
    """A sum of accuracies compared with 0, as rows for all seeds and for each."""

    comparison: Comparison
    row: Row
    seed_rows: list[Row]
    caveats: list[str]


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
    if signs == [1, -1]:
        comparison = compare(found.values[0], found.values[1], level, resamples)
    else:
        summed = sum(sign * value for sign, value in zip(signs, found.values, strict=True))
        comparison = compare_differences(summed, level, resamples)
    caveat = f"{found.left_out} images that not all cells were tested on are left out."
    return Contrast(
        comparison,
        row_of(question.name, comparison),
        seed_rows(question.name, comparison, found.seeds),
        [caveat] if found.left_out else [],
    )
