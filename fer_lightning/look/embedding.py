"""t-SNE of features, and how far to believe the picture."""

import math

import numpy as np
import torch
from sklearn.manifold import TSNE, trustworthiness
from sklearn.metrics import silhouette_score
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from fer_lightning.errors import UserError

NEIGHBOURS = 5


def tsne(
    features: Tensor, perplexity: float = 30.0, max_iter: int = 1000, seed: int = 42
) -> Tensor:
    """Lay out features in the plane by t-SNE, started from their first two principal components.

    Coordinates differ between machines and library versions; compare the numbers of
    `embedding_quality`, never points.

    Args:
        features: (N, D) one row per image.
        perplexity: About how many neighbours count; less than N.
        max_iter: Iterations of gradient descent, at least 250.
        seed: Seed of the solver.

    Returns:
        (N, 2) float32.

    Raises:
        UserError: Not finite, not more samples than the perplexity, or too few iterations.

    >>> points = tsne(torch.eye(8), perplexity=3, max_iter=250)
    >>> points.shape
    torch.Size([8, 2])
    """
    rows = _rows(features)
    if not 1 <= perplexity < len(rows):
        raise UserError(
            f"expected a perplexity of at least 1 and more samples than it, but got {perplexity:g} "
            f"and {len(rows)} samples: add samples or lower the perplexity."
        )
    if max_iter < 250:
        raise UserError(f"expected max_iter of at least 250, but got {max_iter}: raise it.")
    # PCA needs two columns and some spread; scalar or equal features start from random places.
    start = "pca" if rows.shape[1] > 1 and not _all_equal(rows) else "random"
    model = TSNE(perplexity=perplexity, max_iter=max_iter, init=start, random_state=seed)
    return torch.from_numpy(model.fit_transform(rows).astype(np.float32))


def embedding_quality(
    features: Tensor, labels: Tensor, points: Tensor, neighbours: int = NEIGHBOURS
) -> dict[str, float]:
    """Say how well classes separate in feature space and in a plane made from it.

    Args:
        features: (N, D) one row per image.
        labels: (N,) classes.
        points: (N, 2) the plane, such as `tsne(features)`.
        neighbours: Neighbours for kNN and trustworthiness; less than half of N.

    Returns:
        `knn_features`, `knn_points`: leave-one-out accuracy of the majority among the nearest
        neighbours, a tie going to the class of the nearest one among the tied.
        `silhouette_features`, `silhouette_points`: from -1 to 1; NaN also with a single class or
        with every image in a class of its own, where it is not defined.
        `trustworthiness`: from 0 to 1, how far neighbours in the plane are neighbours in feature
        space. All numbers of a space are NaN when its rows are all equal, for then nobody is near.

    Raises:
        UserError: Lengths do not fit, values are not finite, or too few samples.

    >>> features = torch.tensor([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> labels = torch.tensor([0, 0, 0, 1, 1, 1])
    >>> quality = embedding_quality(features, labels, features.repeat(1, 2), neighbours=2)
    >>> quality["knn_features"], quality["trustworthiness"]
    (1.0, 1.0)
    """
    rows, plane = _rows(features), _rows(points)
    if not (len(rows) == len(plane) == len(labels) and labels.ndim == 1):
        raise UserError(
            f"expected as many labels and points as features, but got {tuple(labels.shape)}, "
            f"{tuple(points.shape)} and {tuple(features.shape)}: take them from the same images."
        )
    if not 1 <= neighbours < len(rows) / 2:
        raise UserError(
            f"expected more than {2 * neighbours} samples for {neighbours} neighbours, but got "
            f"{len(rows)}: add samples or lower the number of neighbours."
        )
    classes = labels.detach().cpu().numpy()
    quality = {
        "knn_features": _knn_accuracy(rows, classes, neighbours),
        "knn_points": _knn_accuracy(plane, classes, neighbours),
        "silhouette_features": _silhouette(rows, classes),
        "silhouette_points": _silhouette(plane, classes),
        "trustworthiness": float(trustworthiness(rows, plane, n_neighbors=neighbours)),
    }
    without_meaning = {"features": _all_equal(rows), "points": _all_equal(plane)}
    without_meaning["trustworthiness"] = any(without_meaning.values())
    return {
        name: math.nan if without_meaning[name.split("_")[-1]] else value
        for name, value in quality.items()
    }


def _rows(features: Tensor) -> np.ndarray:
    """Return finite (N, D) features as float32."""
    if features.ndim != 2 or features.numel() == 0 or not features.isfinite().all():
        raise UserError(
            f"expected finite features of shape (N, D), but got {tuple(features.shape)} or NaN: "
            "flatten them to one row per image and look for NaN in the model."
        )
    return features.detach().float().cpu().numpy()


def _all_equal(rows: np.ndarray) -> bool:
    """Tell whether all rows are the same."""
    return bool((rows == rows[0]).all())


def _knn_accuracy(rows: np.ndarray, classes: np.ndarray, neighbours: int) -> float:
    """Predict each class from the others' by majority, ties to the nearest of the tied."""
    # Without an argument, kneighbors leaves each row itself out.
    nearest = NearestNeighbors(n_neighbors=neighbours).fit(rows).kneighbors(return_distance=False)
    votes = classes[nearest]  # (N, k), nearest first
    support = (votes[:, :, None] == votes[:, None, :]).sum(2)  # how many agree with each vote
    winner = votes[np.arange(len(votes)), support.argmax(1)]
    return float((winner == classes).mean())


def _silhouette(rows: np.ndarray, classes: np.ndarray) -> float:
    """Return the mean silhouette, or NaN where it is not defined."""
    if not 2 <= len(np.unique(classes)) < len(classes):
        return math.nan
    return float(silhouette_score(rows, classes))
