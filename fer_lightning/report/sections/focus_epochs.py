"""How focus changes while models learn."""

import numpy as np
import pandas as pd

from fer_lightning.plots.curves import Line, Panel, model_curves
from fer_lightning.report.content import Item, Picture, Text
from fer_lightning.report.parts import about, percent, shown_fraction
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.run import Run

PRIMARY = "primary"  # stands for the data set's primary region
PANELS = (  # title, metric, region, column, ratio
    ("LFR of {region}, median", "lfr", PRIMARY, "median", True),
    ("share of LFR ≥ 1", "lfr", PRIMARY, "share_ge_1", False),
    ("LSI, median", "lsi", "", "median", False),
    ("background, median", "background", "", "median", False),
)
NULLS = {"uniform": "null: even map", "gaussian_0.25": "null: blob in the middle"}
NEEDED = {"epoch", "maps", "metric", "region", "median", "share_ge_1"}


def over_epochs(collection: Collection) -> list[Item]:
    """Draw the primary region's LFR, its share of at least 1, LSI and background over epochs."""
    runs = [run for run in collection.runs if set(run.focus_epochs.columns) >= NEEDED]
    if not runs:
        return [Text("Focus over epochs was not measured in these runs.", "note")]
    fraction = shown_fraction(runs)
    shown = [run for run in runs if run.fraction == fraction]
    models = [model for model in collection.models if any(r.model == model for r in shown)]
    primary, word = collection.regions.primary, collection.primary_title
    wanted = [
        (t.format(region=word), m, primary if r else "", c, log) for t, m, r, c, log in PANELS
    ]
    panels = [
        Panel(
            title,
            {
                model: [_line(run, metric, region, column) for run in shown if run.model == model]
                for model in models
            },
            {null: _level(shown, name, metric, region, column) for name, null in NULLS.items()},
            log,
        )
        for title, metric, region, column, log in wanted
    ]
    last = ", ".join(
        f"{model}: {lines[0][1][-1]:.2f}"
        for model, lines in panels[0].lines.items()
        if lines and len(lines[0][1])
    )
    figure = model_curves(
        panels,
        collection.models,
        title=f"Focus over epochs at {percent(fraction)} of the training data: {about(collection)}",
        caption="Validation images of the probe set; one line per seed; zero maps are left out. "
        "Grey: what maps score that know nothing.",
    )
    return [
        Picture(
            "focus_over_epochs",
            "Focus of Grad-CAM on validation images while the models learn.",
            f"Median LFR of {word} after the last epoch: {last}",
            figure,
        )
    ]


def _rows(run: Run, maps: str, metric: str, region: str) -> pd.DataFrame:
    table = run.focus_epochs
    return table[
        (table["maps"] == maps)
        & (table["metric"] == metric)
        & (table["region"].fillna("").astype(str) == region)
    ]


def _line(run: Run, metric: str, region: str, column: str) -> Line:
    rows = _rows(run, "model", metric, region)
    numbers = rows[["epoch", column]].apply(pd.to_numeric, errors="coerce").sort_values("epoch")
    return numbers["epoch"].to_numpy(np.float64), numbers[column].to_numpy(np.float64)


def _level(runs: list[Run], maps: str, metric: str, region: str, column: str) -> float:
    values = [
        float(value)
        for run in runs
        for value in pd.to_numeric(_rows(run, maps, metric, region)[column], errors="coerce")
        if np.isfinite(value)
    ]
    return float(np.median(values)) if values else float("nan")
