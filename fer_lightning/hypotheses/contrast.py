"""Accuracies added and subtracted, judged: the common part of H1a, H1b and H3."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fer_lightning.hypotheses.evidence import Cell, Group, Key, align, missing_cells
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
    """A statement that holds where a sum of accuracies is positive.

    Args:
        statement: in words.
        name: of the sum, for the table.
        terms: groups to add, by sign: ((1, ("cnn", 0.3)), (-1, ("vit", 0.3))).
    """

    statement: str
    name: str
    terms: tuple[tuple[int, Group], ...]


def answer(
    hypothesis: str,
    questions: Sequence[Question],
    cells: Mapping[Key, Cell],
    seeds: Sequence[int],
    what: str,
    alpha: float = ALPHA,
) -> list[Verdict]:
    """Judge the questions of one hypothesis, which are one family of tests.

    Args:
        hypothesis: such as "H1a".
        questions: m of them.
        cells: as `by_key` gives them.
        seeds: the planned ones.
        what: the sum in words, for the rule.
        alpha: of the whole family.
    """
    m = len(questions)
    found = [contrast(question, cells, seeds, m, alpha) for question in questions]
    rows = adjust([f[1] for f in found if f is not None], m)
    adjusted = iter(rows)
    verdicts = []
    for question, result in zip(questions, found, strict=True):
        missing = missing_cells(cells, [group for _, group in question.terms], seeds)
        rule = rule_for(what, m, alpha)
        if result is None:
            reason = f"Missing: {', '.join(missing) or 'planned seeds'}."
            verdicts.append(
                Verdict(hypothesis, question.statement, "undecided", reason, rule, missing=missing)
            )
            continue
        comparison, _, per_seed, caveats = result
        row = next(adjusted)
        outcome = judge(comparison, float(row["p_bonferroni"]), alpha)
        reason = f"{question.name}: {in_words(row)}."
        if missing:
            outcome = "undecided"
            reason = f"Missing: {', '.join(missing)}. So far, {reason}"
        verdicts.append(
            Verdict(
                hypothesis,
                question.statement,
                outcome,
                reason,
                rule,
                [row, *per_seed],
                seed_caveats(comparison) + caveats,
                missing,
            )
        )
    return verdicts


def contrast(
    question: Question,
    cells: Mapping[Key, Cell],
    seeds: Sequence[int],
    tests: int = 1,
    alpha: float = ALPHA,
) -> tuple[Comparison, Row, list[Row], list[str]] | None:
    """Compare, and return also the row, the rows of single seeds and caveats.

    None where no seed is common to all terms.
    """
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
    left_out = found.left_out
    caveats = [f"{left_out} images that not all cells were tested on are left out."]
    return (
        comparison,
        row_of(question.name, comparison),
        seed_rows(question.name, comparison, found.seeds),
        caveats if left_out else [],
    )
