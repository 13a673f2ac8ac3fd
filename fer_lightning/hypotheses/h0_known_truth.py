"""H0: does a method tell where a model must look, where that is known?

A pattern planted outside of the regions names the class with probability p. A model that learned
at p = 0 can read nothing but the picture itself, one that learned at p = 1 needs nothing but the
pattern, and the more p, the less the regions matter. A method and a metric that may be believed
tell both ends apart, image by image, and rise or fall with p.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field
from scipy.stats import norm, spearmanr

from fer_lightning.hypotheses.evidence import Evidence, Floats
from fer_lightning.hypotheses.focus_measures import DECIDING
from fer_lightning.hypotheses.registry import Asked, hypothesis
from fer_lightning.hypotheses.truth import RULE as TRUTH_RULE
from fer_lightning.hypotheses.truth import SEEDS, Measured, passes
from fer_lightning.hypotheses.verdict import Row, Verdict, interval_row
from fer_lightning.runs.files import FILES
from fer_lightning.runs.run import Run
from fer_lightning.statistics import Interval

LEVEL = 0.95  # of the interval of the separation
DECIMALS = 9  # of a rank correlation: 0.8 is 0.8, not a little less
# Column of focus_samples.csv, and what a map without any heat says: nothing.
METRICS = {
    "lfr": ("lfr_{}", 1.0),
    "mass": ("mass_{}", 1.0),
    "auc": ("auc_{}", 0.5),
    "lsi": ("lsi_{}", 0.0),
    "background": ("background_share", np.nan),
}
RESOLUTIONS = {"matched": "", "native": "_native"}
RULE = (
    f"{TRUTH_RULE} The separation is the share of pairs of images, one of p = 0 and one of p = 1, "
    "that the metric puts in the right order (AUC), with DeLong's interval; where all pairs are in "
    "order, the bound of as many right answers as images. The rank correlation is that of the "
    "metric's median over images with p. Supported where the method passes for every architecture "
    f"by {DECIDING} (the mass ratio, all maps on one grid), not supported where it fails for one, "
    "undecided where a cell is missing. Maps without heat count as telling nothing (LFR and mass "
    "ratio 1, AUC 0.5, LSI 0; background: left out)."
)


class KnownTruth(Asked):
    """Which architectures of a study that varies a cue's strength."""

    models: list[str] = Field(min_length=1, description="names of models before they are varied")
    planted: Literal["outside", "inside"] = Field(
        default="outside", description="outside or inside, where the cue lies,"
    )


def separation(first: Floats, second: Floats, level: float = LEVEL) -> Interval:
    """Probability that a value of `first`, (m,), is above one of `second`, (n,), ties half.

    The interval is DeLong's; where every pair is in order its width would be 0, so that there the
    bound is the share for which as many right answers as images would still be likely.

    >>> separation(np.array([2.0, 3.0]), np.array([1.0, 3.0])).estimate
    0.625
    >>> round(separation(np.arange(10.0, 60.0), np.arange(10.0)).low, 3)
    0.741
    """
    above = (first[:, None] > second) + 0.5 * (first[:, None] == second)
    auc = float(above.mean())
    few = min(len(first), len(second))
    spread = sum(
        np.var(above.mean(axis), ddof=1) / above.shape[1 - axis] if above.shape[1 - axis] > 1 else 1
        for axis in (0, 1)
    )
    reach = float(norm.ppf((1 + level) / 2) * spread**0.5)
    certain = (1 - level) ** (1 / few)
    low, high = min(auc - reach, auc * certain), max(auc + reach, 1 - (1 - auc) * certain)
    return Interval(auc, max(low, 0.0), min(high, 1.0), level)


def truth_table(runs: Iterable[Run], planted: str = "outside") -> list[Measured]:
    """Measure every method and metric of every architecture and seed in a study of doses.

    Args:
        runs: those that vary an option are looked at; its value is the dose.
        planted: where the cue lies, "outside" or "inside" of the primary region.
    """
    groups: dict[tuple[str, str, int], dict[float, Run]] = {}
    for run in runs:
        if run.varied and isinstance(run.varied.get("value"), int | float):
            data = str(run.summary.get("data")).split(" (")[0]
            key = (data, str(run.varied["model"]), run.seed)
            groups.setdefault(key, {})[float(run.varied["value"])] = run
    found: list[Measured] = []
    for key in sorted(groups):
        doses = dict(sorted(groups[key].items()))
        if len(doses) > 2:
            found += _of_doses(*key, doses, planted)
    return found


def _of_doses(
    data: str, model: str, seed: int, doses: Mapping[float, Run], planted: str
) -> list[Measured]:
    costs = [hiding_cost(run, planted) for run in doses.values()]
    runs = list(doses.values())
    methods = [name for name in runs[0].methods if all(name in run.methods for run in runs)]
    found = []
    for method in methods:
        for metric, values in _values(runs, method).items():
            up = (metric.startswith("background")) == (planted == "outside")
            signed = [v if up else -v for v in values]
            ends = separation(signed[-1], signed[0])
            middle = [float(np.median(v)) for v in signed]
            rank_p, rank_hiding = _rank(middle, list(doses)), _rank(middle, costs)
            found.append(
                Measured(
                    *(data, model, method, metric, seed, ends.estimate, ends.low, ends.high),
                    *(rank_p, rank_hiding, min(map(len, values)), passes(ends.low, rank_p)),
                )
            )
    return found


def _values(runs: Sequence[Run], method: str) -> dict[str, list[Floats]]:
    """Return by metric the images' values at each dose; what was not measured is left out."""
    tables = [run.focus_by("focus_samples", method) for run in runs]
    found: dict[str, list[Floats]] = {}
    for resolution, suffix in RESOLUTIONS.items():
        for metric, (column, nothing) in METRICS.items():
            name = column.format(runs[0].regions.primary)
            parts = [t[t["resolution"] == resolution] for t in tables if name in t]
            values = [_filled(part[name], nothing) for part in parts]
            if len(values) == len(runs) and all(map(len, values)):
                found[metric + suffix] = values
    return found


def _filled(column: "pd.Series[Any]", nothing: float) -> Floats:
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    values = np.where(np.isnan(values), nothing, values)
    return values[~np.isnan(values)]


def hiding_cost(run: Run, planted: str) -> float:
    """Return the accuracy lost by hiding what the cue lies on, mean over fills."""
    table = FILES["hiding"].read(run.path)
    if table is None or not len(table):
        return np.nan
    region = "background" if planted == "outside" else run.regions.primary
    rows = table[(table["region"] == region) & (table["patch"] == "region")]
    return float(rows["acc_drop"].mean())


def _rank(values: Sequence[float], others: Sequence[float]) -> float:
    """Spearman's correlation, 0 where one of them does not change at all."""
    if len(set(values)) < 2 or len(set(others)) < 2 or not np.isfinite([*values, *others]).all():
        return 0.0
    return round(float(spearmanr(values, others).statistic), DECIMALS)


@hypothesis("H0", KnownTruth)
def known_truth(asked: KnownTruth, evidence: Evidence) -> list[Verdict]:
    """Judge each method that was measured for every architecture."""
    table = [row for row in truth_table(evidence.runs, asked.planted) if row.model in asked.models]
    methods = list(dict.fromkeys(row.method for row in table))
    missing = _missing(asked.models, evidence)
    if not methods:
        words = ", ".join(asked.models)
        statement = f"some method tells where {words} must look"
        lacking = "No architecture has three doses or more that were looked into."
        return [Verdict("H0", statement, "undecided", lacking, RULE, [], [], missing, "missing")]
    return [_verdict(method, table, asked.models, missing) for method in methods]


def _verdict(
    method: str, table: Sequence[Measured], models: Sequence[str], missing: list[str]
) -> Verdict:
    rows = [row for row in table if row.method == method]
    deciding = [row for row in rows if row.metric == DECIDING]
    there = [model for model in models if any(row.model == model for row in rows)]
    failed = list(dict.fromkeys(row.model for row in deciding if not row.passed))
    few = [m for m in there if len({r.seed for r in deciding if r.model == m}) < SEEDS]
    reason = "; ".join(
        f"{model}: {_in_words(mine)}"
        for model in there
        if (mine := [row for row in deciding if row.model == model])
    )
    lacks = bool(few or missing or not deciding)
    if few and not failed:
        reason += f". Fewer than {SEEDS} seeds: {', '.join(few)}"
    return Verdict(
        "H0",
        f"{method} tells where {' and '.join(there)} must look",
        "not supported" if failed else "undecided" if lacks else "supported",
        f"{reason}.",
        RULE,
        [*map(_row, rows)],
        [],
        missing,
        "missing" if lacks and not failed else "",
    )


def _in_words(rows: Sequence[Measured]) -> str:
    """Tell the range over seeds."""
    auc, rank = sorted(row.auc for row in rows), sorted(row.rank_p for row in rows)
    return (
        f"separation {auc[0]:.3f} to {auc[-1]:.3f} (lowest bound "
        f"{min(row.auc_low for row in rows):.3f}), rank correlation with p {rank[0]:.2f} to "
        f"{rank[-1]:.2f}"
    )


def _row(row: Measured) -> Row:
    interval = Interval(row.auc, row.auc_low, row.auc_high, LEVEL)
    name = f"separation of p = 0 and p = 1 by {row.metric}, {row.model}, seed {row.seed}"
    return interval_row("test", name, interval, "", 1, row.n)


def _missing(models: Sequence[str], evidence: Evidence) -> list[str]:
    """Name the cells of any dose seen that lack for an architecture and a planned seed."""
    there = {
        (str(run.varied["model"]), run.seed, str(run.varied["value"])): run.model
        for run in evidence.runs
        if run.varied
    }
    doses = dict.fromkeys(value for _, _, value in there)
    return [
        f"{model} at p = {value}, seed {seed}"
        for model in models
        for seed in evidence.seeds
        for value in doses
        if (model, seed, value) not in there
    ]
