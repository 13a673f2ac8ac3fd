"""H2: does one model look more at the key regions than the other?"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from fer_lightning.study.evidence import Floats, Focus, Key, align, missing_cells
from fer_lightning.study.hypotheses.arbiter import RULE as ARBITER_RULE
from fer_lightning.study.hypotheses.arbiter import Arbitration, arbitrate
from fer_lightning.study.hypotheses.focus_gates import GATES, against, caveats
from fer_lightning.study.hypotheses.focus_measures import (
    TESTS,
    Measured,
    at_limits,
    compare_focus,
)
from fer_lightning.study.hypotheses.nulls import beside_nulls
from fer_lightning.study.hypotheses.verdict import (
    Verdict,
    adjust,
    in_words,
    judge,
    rule_for,
    seed_caveats,
    seed_rows,
)
from fer_lightning.study.stats import ALPHA, family_level, family_resamples


def focus(
    found: Mapping[Key, Focus],
    first: str,
    second: str,
    fractions: Sequence[float],
    seeds: Sequence[int],
    alpha: float = ALPHA,
) -> list[Verdict]:
    """Judge at each fraction; all measures, resolutions and fractions are one family.

    Args:
        found: as `by_key` gives it.
        first: the model said to look at key regions more.
        second: the other.
        fractions: planned ones.
        seeds: planned ones.
        alpha: of the whole family.
    """
    m = TESTS * max(len(fractions), 1)
    level, resamples = family_level(m, alpha), family_resamples(m, alpha)
    measured = {
        fraction: compare_focus(
            found, [(first, fraction), (second, fraction)], seeds, level, resamples
        )
        for fraction in sorted(fractions)
    }
    rows = iter(adjust([one.row for several in measured.values() for one in several], m))
    return [
        _at_fraction(
            found,
            (first, second),
            fraction,
            seeds,
            [one._replace(row=next(rows)) for one in several],
            (m, level, resamples, alpha),
        )
        for fraction, several in measured.items()
    ]


def _at_fraction(
    found: Mapping[Key, Focus],
    models: tuple[str, str],
    fraction: float,
    seeds: Sequence[int],
    measured: list[Measured],
    family: tuple[int, float, int, float],
) -> Verdict:
    m, level, resamples, alpha = family
    groups = [(model, fraction) for model in models]
    statement = (
        f"{models[0]} looks more at the key regions than {models[1]} at {100 * fraction:g} % of "
        "the training data"
    )
    rule = f"{rule_for('difference', m, alpha)} {GATES} {ARBITER_RULE}"
    missing = missing_cells(found, groups, seeds)
    main = next((o for o in measured if (o.name, o.resolution) == ("log LFR", "matched")), None)
    rows = [one.row for one in measured]
    if main is None:
        lacking = f"Missing: {', '.join(missing)}." if missing else "No maps at one resolution."
        return Verdict("H2", statement, "undecided", lacking, rule, rows, [], missing)

    zeros_in = compare_focus(found, groups, seeds, level, resamples, zeros_in=True)
    beside = [
        beside_nulls(model, [found[model, fraction, seed] for seed in main.seeds], alpha)
        for model in models
    ]
    arbiter = _arbiter(found, models, fraction, main.seeds, alpha)
    doubts = against(measured, zeros_in, beside[0], arbiter, models)
    outcome = judge(main.comparison, float(main.row["p_bonferroni"]), alpha)
    reason = f"log LFR of KEY on one grid: {in_words(main.row)}."
    if outcome == "supported" and doubts:
        outcome = "undecided"
        reason += f" But {'; '.join(doubts)}."
    if missing:
        outcome = "undecided"
        reason = f"Missing: {', '.join(missing)}. So far, {reason}"
    rows += seed_rows(str(main.row["comparison"]), main.comparison, main.seeds, "")
    rows += [one.row for one in zeros_in]
    rows += [row for one in beside for row in one.rows]
    rows += [] if arbiter is None else arbiter.rows
    told = seed_caveats(main.comparison) + caveats(measured, main, beside, arbiter, models)
    limits = at_limits(
        *(
            found[model, fraction, seed].lfr["matched", "key"]
            for model in models
            for seed in main.seeds
        )
    )
    if limits:
        told.append(f"Maps without heat inside or outside KEY weigh most in log LFR: {limits}.")
    return Verdict("H2", statement, outcome, reason, rule, rows, told, missing)


def _arbiter(
    found: Mapping[Key, Focus],
    models: tuple[str, str],
    fraction: float,
    seeds: Sequence[int],
    alpha: float,
) -> Arbitration | None:
    groups = [(model, fraction) for model in models]
    cells = [found[*group, seed] for group in groups for seed in seeds]
    fills = [
        fill
        for fill in cells[0].excess
        if all(fill in cell.excess and not np.isnan(cell.excess[fill]).all() for cell in cells)
    ]
    if not fills:
        return None
    values = {fill: align(found, groups, seeds, partial(_excess, fill=fill)) for fill in fills}
    first, second = (
        {fill: v.values[place] for fill, v in values.items() if v is not None} for place in (0, 1)
    )
    return arbitrate(first, second, models, alpha)


def _excess(cell: Focus, fill: str) -> Floats:
    return cell.excess[fill]
