"""The row of one run in a study's tidy table, and writing such tables to files."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fer_lightning.study.run import Run
from fer_lightning.tracking.run_folder import atomic


def run_row(run: Run) -> dict[str, Any]:
    """Name a run's numbers; None where a summary has none.

    >>> summary = {"model": "vit", "test": {"acc": 0.5}, "val": {"acc": 0.6}, "seconds": 9}
    >>> row = run_row(Run(Path("a"), "vit", 0.3, 42, summary=summary))
    >>> row["test_acc"], row["val_acc"], row["seconds"], row["test_ece"]
    (0.5, 0.6, 9, None)
    """
    summary = run.summary
    measured = {
        f"{stage}_{name}": _at(summary, stage, name)
        for name in ("acc", "macro_f1", "nll", "ece", "ece_floor")
        for stage in ("val", "test")
    }
    images = {f"{part}_images": _at(summary, "images", part) for part in ("train", "val", "test")}
    same = ("parameters", "multiply_adds", "epochs", "best_epoch", "seconds", "hardware", "data")
    return {
        "model": run.model,
        "fraction": run.fraction,
        "seed": run.seed,
        **measured,
        "net": summary.get("model"),
        **{name: summary.get(name) for name in same},
        "processes": summary.get("processes"),
        **images,
        "fingerprint": run.fingerprint,
        "torch": _at(summary, "versions", "torch"),
        "code": summary.get("code"),
        "started": summary.get("started"),
        "identity": run.identity,
        "folder": run.path.name,
    }


def _at(summary: Mapping[str, Any], *names: str) -> Any:
    value: Any = summary
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def save_table(table: pd.DataFrame, path: Path) -> list[Path]:
    """Write ``<path>.csv``, and ``<path>.parquet`` where pyarrow is installed; return both."""
    written = [path.with_name(path.name + ".csv")]
    with atomic(written[0]) as file:
        table.to_csv(file, index=False, lineterminator="\n")
    if importlib.util.find_spec("pyarrow") is not None:
        written.append(path.with_name(path.name + ".parquet"))
        with atomic(written[1], "wb") as file:
            table.to_parquet(file, index=False)
    return written
