"""H6: does most of what a model looks at lie on the background?

The protocol paper claims that transformers spend 60 % of their attention there. A share of the
background means little without how much of the picture is background: a map that knows nothing
has that share, which stands beside.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from pydantic import Field

from fer_lightning.hypotheses.evidence import Evidence, Floats, missing_cells
from fer_lightning.hypotheses.registry import Asked, Model, hypothesis
from fer_lightning.hypotheses.verdict import (
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
    trainings_row,
)
from fer_lightning.runs.run import Run
from fer_lightning.statistics import Comparison, compare, family_level, family_resamples

CLAIMED = 0.6  # of the attention
COLUMN = "background_share"  # in focus_samples.csv and, of null maps, in focus.csv


class Background(Asked):
    """Which models of a study, by which method, and the share that is claimed."""

    models: list[Model] = Field(min_length=1, description="models of the study")
    method: str = Field(default="attention_rollout", description="a method of looking as method")
    share: float = Field(default=CLAIMED, gt=0, lt=1, description="a share between 0 and 1")


@hypothesis("H6", Background)
def background(asked: Background, evidence: Evidence) -> list[Verdict]:
    """Judge every model at the largest fraction; all models are one family."""
    fraction = max(evidence.fractions, default=1.0)
    found = {m: _of_model(asked, evidence, m, fraction) for m in asked.models}
    known = {model: one for model, one in found.items() if one is not None}
    names = [f"share of {model}'s maps on the background, minus the claim" for model in known]
    several = [
        adjust([make(*one) for one in zip(names, known.values(), strict=True)], len(found))
        for make in (row_of, trainings_row)
    ]
    rows = {model: list(both) for model, *both in zip(known, *several, strict=True)}
    return [_verdict(asked, evidence, m, fraction, found[m], rows.get(m, [])) for m in found]


def _of_model(
    asked: Background, evidence: Evidence, model: str, fraction: float
) -> Comparison | None:
    """Compare a model's shares, seed by seed and image by image, with the one that is claimed."""
    runs = [
        run
        for run in evidence.runs
        if (run.model, run.fraction) == (model, fraction) and run.seed in evidence.seeds
    ]
    values = shares(runs, asked.method)
    if values is None:
        return None
    tests = len(asked.models)
    level = family_level(tests, evidence.alpha)
    resamples = family_resamples(tests, evidence.alpha)
    return compare(values, np.full_like(values, asked.share), level, resamples)


def shares(runs: Sequence[Run], method: str) -> Floats | None:
    """Return the background's share of each map, (S, n), of the images that all runs looked at.

    A map without heat has no share (NaN). None where a run was not looked into by the method.
    """
    columns = []
    for run in runs:
        table = run.focus_by("focus_samples", method)
        if COLUMN not in table or "row" not in table:
            return None
        own = table[table["resolution"] == "native"].set_index("row")[COLUMN]
        columns.append(pd.to_numeric(own, errors="coerce"))
    if not columns:
        return None
    both = pd.concat(columns, axis=1, join="inner").to_numpy(np.float64).T
    return both if both.size and not np.isnan(both).all(axis=1).any() else None


def area(runs: Sequence[Run], method: str) -> float:
    """Return the share of the picture that is background: that of a uniform map; NaN without."""
    for run in runs:
        table = run.focus_by("focus", method)
        if {"source", COLUMN} <= set(table.columns):
            rows = table[table["source"] == "uniform"]
            values = pd.to_numeric(rows[COLUMN], errors="coerce").dropna()
            if len(values):
                return float(values.iloc[0])
    return float("nan")


def _verdict(
    asked: Background,
    evidence: Evidence,
    model: str,
    fraction: float,
    found: Comparison | None,
    rows: list[Row],
) -> Verdict:
    rule = rule_for("share minus the claimed one", len(asked.models), evidence.alpha)
    statement = (
        f"at least {100 * asked.share:g} % of what {model} looks at, by {asked.method}, lies on "
        "the background"
    )
    runs = {(r.model, r.fraction, r.seed): r for r in evidence.runs}
    missing = missing_cells(runs, [(model, fraction)], evidence.seeds)
    if found is None:
        lacking = ", ".join(missing) or f"maps by {asked.method}"
        reason = f"Missing: {lacking}."
        return Verdict("H6", statement, "undecided", reason, rule, [], [], missing, "missing")
    outcome = judge(found, float(rows[0]["p_bonferroni"]), evidence.alpha)
    reason = f"{100 * (found.estimate + asked.share):.1f} % lies there; minus the claim "
    kind: Undecided = "missing" if missing else ""
    if found.seeds == 1:
        kind, reason = "missing", f"{ONE_TRAINING} For this one, {reason}{in_words(rows[1])}."
    else:
        reason += f"{in_words(rows[0])}."
        if outcome == "undecided" and not missing:
            kind, reason = "no power", f"{reason} {no_power(found, 'points')}"
    caveats = seed_caveats(found)
    ground = area([r for key, r in runs.items() if key[:2] == (model, fraction)], asked.method)
    if np.isfinite(ground):
        caveats.append(
            f"{100 * ground:.1f} % of the pictures is background, so that much of a map that knows "
            "nothing lies there."
        )
    outcome = "undecided" if missing else outcome
    return Verdict("H6", statement, outcome, reason, rule, rows, caveats, missing, kind)
