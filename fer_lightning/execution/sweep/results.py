"""What is told of all runs: ``sweep.csv``, a row each with its point and what came of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fer_lightning.errors import UserError
from fer_lightning.execution.sweep.labels import label
from fer_lightning.execution.sweep.trial import Reader, SweepState, Trial
from fer_lightning.runs.files import read_json
from fer_lightning.runs.folder import RunFolder, atomic

TABLE = "sweep.csv"


def results_table(state: SweepState, reader: Reader) -> pd.DataFrame:
    """Return one row per run: name, state, parameters, metric, epochs, seconds."""
    rows = []
    for trial in state.trials:
        measured = reader.measure(trial)
        plain: dict[str, Any] = {
            name: value if isinstance(value, int | float | str) else label(value)
            for name, value in trial.parameters.items()
        }
        rows.append(
            {"run": trial.name, "state": trial.state}
            | plain
            | {
                state.sweep.metric: measured.best,
                "epochs": measured.epochs,
                "seconds": None if measured.seconds is None else round(measured.seconds, 1),
            }
        )
    return pd.DataFrame(rows)


def run_facts(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Read how runs were started; nothing of one whose file is missing or damaged."""
    found = []
    for trial in trials:
        try:
            found.append(read_json(RunFolder(trial.folder.path).run))
        except UserError:
            found.append({})
    return found


def write_table(state: SweepState, reader: Reader) -> Path:
    """Write the table into the sweep's folder."""
    path = state.out / TABLE
    with atomic(path) as file:
        results_table(state, reader).to_csv(file, index=False, lineterminator="\n")
    return path
