"""Finished runs → the evidence hypotheses are judged by."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from fer_lightning.errors import UserError
from fer_lightning.study.evidence import RESOLUTIONS, Cell, Floats, Focus
from fer_lightning.study.run import Run

EXCESS = "excess_key_"  # followed by the fill: mean, blur


def cells_of(runs: Iterable[Run]) -> list[Cell]:
    """Return which test images each run recognises."""
    return [
        Cell(run.model, run.fraction, run.seed, run.predictions.row, run.predictions.correct)
        for run in runs
    ]


def focus_of(runs: Iterable[Run]) -> list[Focus]:
    """Return where each run looks; runs that nobody looked into are left out."""
    return [_focus(run) for run in runs if len(run.focus_samples)]


def _focus(run: Run) -> Focus:
    samples = run.focus_samples
    if "row" not in samples or samples.duplicated(["row", "resolution"]).any():
        raise UserError(
            f"expected one line for each image and resolution in the focus_samples.csv of "
            f"{run.path} but it has none or several; measure the focus again"
        )
    samples = samples.sort_values("row")
    parts = {name: samples[samples["resolution"] == name] for name in RESOLUTIONS}
    native = parts["native"]
    matched = parts["matched"]
    if len(matched) and not np.array_equal(matched["row"], native["row"]):
        raise UserError(
            f"expected the same images at both resolutions in the focus_samples.csv of {run.path} "
            "but they differ; measure the focus again"
        )
    return Focus(
        model=run.model,
        fraction=run.fraction,
        seed=run.seed,
        ids=native["row"].to_numpy(dtype=np.int64),
        lfr={
            (name, column.removeprefix("lfr_")): _numbers(part, column)
            for name, part in parts.items()
            if len(part)
            for column in part.columns
            if column.startswith("lfr_")
        },
        lsi={name: _numbers(part, "lsi_key") for name, part in parts.items() if len(part)},
        nulls=_nulls(run.focus),
        excess={
            column.removeprefix(EXCESS): _numbers(native, column)
            for column in native.columns
            if column.startswith(EXCESS)
        },
    )


def _nulls(table: pd.DataFrame) -> dict[str, float]:
    """Return mean log LFR of KEY at the matched resolution, by null map."""
    if not len(table):
        return {}
    wanted = (table["resolution"] == "matched") & (table["masks"] == "given")
    rows = table[wanted & (table["region"] == "key") & (table["source"] != "model")]
    return {
        row["source"] + ("" if pd.isna(row["seed"]) else f" {row['seed']:g}"): float(
            row["lfr_log_mean"]
        )
        for _, row in rows.iterrows()
    }


def _numbers(table: pd.DataFrame, column: str) -> Floats:
    return pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64)
