"""Which method may be believed for which architecture: a study that varies a planted cue."""

import numpy as np
from matplotlib.figure import Figure

from fer_lightning.hypotheses.focus_measures import DECIDING
from fer_lightning.hypotheses.h0_known_truth import RULE, hiding_cost, truth_table
from fer_lightning.hypotheses.truth import COLUMNS, LOWEST_AUC, Measured
from fer_lightning.plots.focus import Bounds, separation_by_method
from fer_lightning.report.content import Item, Picture, Table, Text
from fer_lightning.report.parts import number
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.run import Run

DRAWN = {DECIDING: "mass ratio", "auc": "mask AUC", "lfr": "LFR"}
SHOWN = ("mass", "auc", "lfr", "lsi", "background", "lfr_native")


@section("known_truth", "Which method tells the truth", place=15)
def known_truth(material: Material) -> list[Item]:
    """Lay out how well each method and metric follows a planted truth, if one was planted."""
    runs = material.runs.runs
    planted = _planted(material)
    rows = truth_table(runs, planted)
    if not rows:
        return []
    return [
        Text(
            "A pattern that names the class with probability p was planted in every picture, so "
            "that where a model must look is known. A method may be believed where it tells the "
            f"two ends of p apart and follows p. {RULE}"
        ),
        _believed(rows),
        _doses(list(runs), planted),
        Picture(
            "known_truth",
            "Separation of p = 0 and p = 1 by method and metric: mean over seeds, lowest and "
            "highest bound. Right of the line is what passes.",
            "Separation by method; the table beside holds the numbers.",
            _figure(rows),
        ),
        Table(
            "known_truth",
            "Every seed: separation (AUC over images, with its interval) and rank correlations.",
            COLUMNS,
            tuple(tuple(_cell(getattr(row, name)) for name in COLUMNS) for row in rows),
        ),
    ]


def _cell(value: str | float | bool) -> str | int | float | None:
    if isinstance(value, bool):
        return int(value)
    return number(value, 4) if isinstance(value, float) else value


def _planted(material: Material) -> str:
    asked = material.runs.study.get("hypotheses")
    entries = [one for one in asked if isinstance(one, dict)] if isinstance(asked, list) else []
    return next((str(e["planted"]) for e in entries if "planted" in e), "outside")


def _believed(rows: list[Measured]) -> Table:
    """One line per architecture and method: passed, by metric."""
    lines = []
    for model, method in dict.fromkeys((row.model, row.method) for row in rows):
        mine = [row for row in rows if (row.model, row.method) == (model, method)]
        words = [_word([row for row in mine if row.metric == metric]) for metric in SHOWN]
        deciding = [row for row in mine if row.metric == DECIDING]
        ranks = [row.rank_hiding for row in deciding]
        lines.append((model, method, *words, number(float(np.mean(ranks))) if ranks else None))
    return Table(
        "believed",
        "Which method may be believed for which architecture, and by which metric: yes where every "
        "seed passed, with the lowest separation.",
        ("model", "method", *SHOWN, f"rank correlation of {DECIDING} with what hiding costs"),
        tuple(lines),
        (
            "All metrics are of the primary region with maps on one grid, background is the share "
            "of heat outside; native means the maps' own grids.",
        ),
    )


def _word(rows: list[Measured]) -> str | None:
    if not rows:
        return None
    passed = all(row.passed for row in rows)
    return f"{'yes' if passed else 'no'} ({min(row.auc for row in rows):.3f})"


def _doses(runs: list[Run], planted: str) -> Table:
    found = sorted(
        (str(run.varied["model"]), run.seed, float(run.varied["value"]), run)
        for run in runs
        if isinstance(run.varied.get("value"), int | float)
    )
    return Table(
        "doses",
        "What the models learned: accuracy on test images with the cue, and what hiding its place "
        "costs.",
        ("model", "seed", "p", "test accuracy", "accuracy lost by hiding the cue's place"),
        tuple(
            (model, seed, p, number(run.at("test", "acc")), number(hiding_cost(run, planted)))
            for model, seed, p, run in found
        ),
    )


def _figure(rows: list[Measured]) -> Figure:
    """One panel per architecture, one line per method, by the deciding metric and the paper's."""
    bounds: dict[str, dict[str, dict[str, Bounds]]] = {}
    for model, method, metric in dict.fromkeys((r.model, r.method, r.metric) for r in rows):
        if metric in DRAWN:
            mine = [r for r in rows if (r.model, r.method, r.metric) == (model, method, metric)]
            bounds.setdefault(model, {}).setdefault(method, {})[DRAWN[metric]] = (
                min(row.auc_low for row in mine),
                float(np.mean([row.auc for row in mine])),
                max(row.auc_high for row in mine),
            )
    return separation_by_method(bounds, LOWEST_AUC, f"Known truth: {rows[0].data}")
