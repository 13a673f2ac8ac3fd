"""How much each parameter of a sweep decides, from the runs that there are.

As on W&B, a random forest predicts the metric from the parameters, and beside its importance
stands a correlation. Unlike there, importance is by permutation (what the forest loses when a
parameter is shuffled), which does not favour parameters with many values, and the correlation is
of ranks, which is the same for a learning rate and its logarithm.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fer_lightning.execution.sweep.labels import label

LEAST = 4  # runs
TREES, REPEATS = 200, 20


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

    Args:
        points: parameters of each run.
        metric: of each run.
        names: parameters that were varied.
        seed: of the forest and of the shuffling.

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
