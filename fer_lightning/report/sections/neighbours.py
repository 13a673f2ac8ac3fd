"""How well classes separate, in feature space and in a plane made from it, without torch.

The numbers are those of `fer_lightning.look.metrics.embedding_quality`, which needs torch.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NEIGHBOURS = 5


def separation(
    features: NDArray[np.floating], labels: NDArray[np.int64], points: NDArray[np.floating]
) -> dict[str, float]:
    """Return kNN accuracy and silhouette of both spaces, and the plane's trustworthiness.

    Args:
        features: (N, D).
        labels: (N,) classes.
        points: (N, 2) the plane.

    Returns:
        `knn_features`, `knn_points`, `silhouette_features`, `silhouette_points`,
        `trustworthiness`; NaN where there are too few images or all are equal.

    >>> rows = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]] * 2)
    >>> found = separation(rows, np.array([0, 0, 0, 1, 1, 1] * 2), rows)
    >>> found["knn_features"], found["silhouette_points"] > 0.9
    (1.0, True)
    """
    found = dict.fromkeys(
        (f"{name}_{space}" for name in ("knn", "silhouette") for space in ("features", "points")),
        math.nan,
    ) | {"trustworthiness": math.nan}
    spaces = {"features": features, "points": points}
    usable = {name: _usable(rows) for name, rows in spaces.items()}
    distance = {name: distances(rows) for name, rows in spaces.items() if usable[name]}
    for name, between in distance.items():
        found[f"knn_{name}"] = knn_accuracy(between, labels)
        found[f"silhouette_{name}"] = silhouette(between, labels)
    if all(usable.values()):
        found["trustworthiness"] = trustworthiness(distance["features"], distance["points"])
    return found


def _usable(rows: NDArray[np.floating]) -> bool:
    enough = len(rows) > 2 * NEIGHBOURS
    return enough and bool(np.isfinite(rows).all()) and not bool((rows == rows[0]).all())


def distances(rows: NDArray[np.floating]) -> Floats:
    """Return the distance between any two rows, (N, N)."""
    x = rows.astype(np.float64)
    squares = (x**2).sum(1)
    return np.sqrt(np.maximum(squares[:, None] + squares - 2 * (x @ x.T), 0))


def knn_accuracy(between: Floats, labels: NDArray[np.int64]) -> float:
    """Predict each class from its nearest neighbours, a tie going to the nearest of the tied."""
    votes = labels[_others(between)[:, :NEIGHBOURS]]  # (N, k), nearest first
    support = (votes[:, :, None] == votes[:, None, :]).sum(2)  # how many agree with each vote
    winner = votes[np.arange(len(votes)), support.argmax(1)]
    return float((winner == labels).mean())


def silhouette(between: Floats, labels: NDArray[np.int64]) -> float:
    """Return the mean silhouette, NaN with a single class; lone members count 0."""
    kinds, place, count = np.unique(labels, return_inverse=True, return_counts=True)
    if not 2 <= len(kinds) < len(labels):
        return math.nan
    sums = between @ np.eye(len(kinds))[place]  # (N, K) to all members of each class
    own = np.arange(len(labels)), place
    inner = sums[own] / np.maximum(count[place] - 1, 1)
    means = sums / count
    means[own] = np.inf
    outer = means.min(1)
    with np.errstate(invalid="ignore"):
        values = np.nan_to_num((outer - inner) / np.maximum(inner, outer))
    return float(np.where(count[place] > 1, values, 0).mean())


def trustworthiness(features: Floats, points: Floats) -> float:
    """Say how far neighbours in the plane are neighbours in feature space, 0 to 1."""
    n, k = len(features), NEIGHBOURS
    order = _others(features)
    rank = np.empty((n, n), np.int64)
    rank[np.arange(n)[:, None], order] = np.arange(1, n)
    late = np.take_along_axis(rank, _others(points)[:, :k], 1) - k
    return float(1 - 2 / (n * k * (2 * n - 3 * k - 1)) * np.maximum(late, 0).sum())


def _others(between: Floats) -> NDArray[np.int64]:
    """Return all other rows of each, nearest first, (N, N - 1)."""
    alone = between.copy()
    np.fill_diagonal(alone, np.inf)
    return alone.argsort(1, kind="stable")[:, :-1]
