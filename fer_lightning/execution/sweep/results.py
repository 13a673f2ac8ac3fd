"""What came of a sweep: short words for its points, ``sweep.csv``, and which parameters decide.

As on W&B, a random forest predicts the metric from the parameters, and beside its importance
stands a correlation. Unlike there, importance is by permutation (what the forest loses when a
parameter is shuffled), which does not favour parameters with many values, and the correlation is
of ranks, which is the same for a learning rate and its logarithm.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fer_lightning.execution.sweep.trial import SweepState, Trial
from fer_lightning.runs.files import atomic, if_readable, read_json
from fer_lightning.runs.folder import RunFolder

TABLE = "sweep.csv"
LEAST = 4  # runs
TREES, REPEATS = 200, 20


def label(value: Any) -> str:
    """Write a value as briefly as it can be told from others.

    >>> label("configs/vit.yaml"), label(0.00034567), label(True), label(144)
    ('vit', '0.000346', 'true', '144')
    >>> label({"class_path": "fer_lightning.models.ViT", "init_args": {"patch_size": 4}})
    'ViT patch_size=4'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, Mapping) and "class_path" in value:
        args = value.get("init_args") or {}
        words = [f"{name}={label(inner)}" for name, inner in args.items()]
        return " ".join([str(value["class_path"]).rpartition(".")[2], *words])
    if isinstance(value, Mapping):
        return " ".join(f"{name}={label(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(label, value)) or "none"
    text = str(value)
    return Path(text).stem if text.endswith((".yaml", ".yml")) else text


def short_names(names: list[str]) -> dict[str, str]:
    """Leave out what stands before the last dot, where names stay different.

    >>> short_names(["model.lr", "data.fraction", "model.net.depth", "other.depth"])
    {'model.lr': 'lr', 'data.fraction': 'fraction', 'model.net.depth': 'net.depth', \
'other.depth': 'other.depth'}
    """
    short = {name: name.rpartition(".")[2] for name in names}
    several = {word for word in short.values() if list(short.values()).count(word) > 1}
    return {
        name: ".".join(name.split(".")[-2:]) if word in several else word
        for name, word in short.items()
    }


def results_table(state: SweepState) -> pd.DataFrame:
    """Return one row per run: name, state, parameters, metric, epochs, seconds."""
    rows = []
    for trial in state.trials:
        measured = state.measure(trial)
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
    files = (RunFolder(trial.folder.path).run for trial in trials)
    return [if_readable(read_json, file)[0] or {} for file in files]


def write_table(state: SweepState) -> Path:
    """Write the table into the sweep's folder."""
    path = state.out / TABLE
    with atomic(path) as file:
        results_table(state).to_csv(file, index=False, lineterminator="\n")
    return path


class Importance(NamedTuple):
    """What a parameter decides."""

    name: str
    share: float  # of all importance, from 0 to 1
    spread: float  # standard deviation over shufflings
    correlation: float  # Spearman's; NaN for categories, which have no order


class Importances(NamedTuple):
    """All parameters, and whether to believe it."""

    rows: list[Importance]  # the most important first
    unseen: float  # R² of the forest on runs that a tree has not seen
    runs: int


def importances(
    points: Sequence[Mapping[str, Any]],
    metric: Sequence[float],
    names: Sequence[str],
    seed: int = 0,
) -> Importances | None:
    """Explain the metric of N runs by their parameters; None of too few runs or no difference.

    >>> points = [{"a": k, "b": k % 2} for k in range(20)]
    >>> found = importances(points, [0.1 * k for k in range(20)], ["a", "b"])
    >>> [(row.name, round(row.share), row.correlation > 0.9) for row in found.rows]
    [('a', 1, True), ('b', 0, False)]
    """
    from scipy.stats import spearmanr
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.inspection import permutation_importance

    y = np.asarray(metric, float)
    columns = {name: column([point.get(name) for point in points]) for name in names}
    columns = {name: values for name, values in columns.items() if len(np.unique(values)) > 1}
    if len(y) < LEAST or not columns or np.ptp(y) == 0:
        return None
    X = np.stack(list(columns.values()), axis=1)
    forest = RandomForestRegressor(TREES, oob_score=True, random_state=seed).fit(X, y)
    lost = permutation_importance(forest, X, y, n_repeats=REPEATS, random_state=seed)
    means = np.clip(lost.importances_mean, 0, None)
    total = means.sum() or 1.0
    rows = [
        Importance(
            name,
            float(means[place] / total),
            float(lost.importances_std[place] / total),
            float(spearmanr(X[:, place], y).statistic) if _ordered(points, name) else math.nan,
        )
        for place, name in enumerate(columns)
    ]
    return Importances(sorted(rows, key=lambda row: -row.share), float(forest.oob_score_), len(y))


def column(values: Sequence[Any]) -> NDArray[np.float64]:
    """Numbers as they are, categories counted in the order of their names.

    >>> column([0.5, 2]).tolist(), column(["vit", "cnn", "vit"]).tolist()
    ([0.5, 2.0], [1.0, 0.0, 1.0])
    """
    if all(isinstance(value, int | float) for value in values):
        return np.array([float(value) for value in values])
    words = [label(value) for value in values]
    known = sorted(set(words))
    return np.array([float(known.index(word)) for word in words])


def _ordered(points: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Numbers have an order, and so has yes or no."""
    return all(isinstance(point.get(name), int | float) for point in points)
