"""The features of the test images laid out in the plane; hovering a point shows its face."""

import math

import numpy as np
from numpy.typing import NDArray

from fer_lightning.report.content import Item, Points, Scatter, Table, Text
from fer_lightning.report.parts import examples, lacking, number, percent, places, shown_fraction
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.files import FILES, Embedding
from fer_lightning.runs.run import Run

COLUMNS = {
    "knn_features": "kNN accuracy, feature space",
    "knn_points": "kNN accuracy, t-SNE",
    "silhouette_features": "silhouette, feature space",
    "silhouette_points": "silhouette, t-SNE",
    "trustworthiness": "trustworthiness",
}
NEIGHBOURS = 5
SIDE = 12  # pixels of a map in the page: finer than any grid that it came from needs


@section("embedding", "Features of the test images", place=70)
def embedding(material: Material) -> list[Item]:
    """Lay out one run of each model, and say how far classes separate in feature space."""
    runs, faces = examples(material.runs), material.faces
    found = {model: read for model, run in runs.items() if (read := run.embedding)}
    without = [run for model, run in runs.items() if model not in found]
    items: list[Item] = lacking(without, FILES["features"].name)
    if found:
        scatter = _scatter(runs, found, faces, percent(shown_fraction(material.runs.runs)))
        items += [
            Text(
                "t-SNE keeps neighbours together; distances between clusters and their sizes mean "
                "nothing. Judge separation by the numbers in feature space."
            ),
            scatter,
            _quality(scatter, found),
        ]
        if faces and all(one.faces is None for one in found.values()):
            items.append(Text("These runs kept no faces, so points show none.", "note"))
        if not faces:
            items.append(Text("Faces were left out of this report on request.", "note"))
    return items


def _scatter(
    runs: dict[str, Run], found: dict[str, Embedding], faces: bool, fraction: str
) -> Scatter:
    single = len(found) == 1  # several folders may be called alike, and each has a file
    models = tuple(
        _points(run, one, run.shown_as if single else run.name)
        for run, one in ((runs[model], one) for model, one in found.items())
    )
    first = next(iter(runs.values()))
    given = [one for one in found.values() if one.faces is not None] if faces else []
    shown = {}
    if given:
        rows, at = np.unique(np.concatenate([one.row for one in given]), return_index=True)
        pictures = np.concatenate([one.faces for one in given if one.faces is not None])[at]
        shown = {"face_rows": rows, "faces": pictures}
    return Scatter(
        "tsne",
        f"t-SNE of the penultimate features of test images, {fraction} of the training data, one "
        "seed per model.",
        tuple(first.classes),
        models,
        **shown,
    )


def _points(run: Run, one: Embedding, name: str) -> Points:
    answers = run.predictions
    at = places(one.row, answers.row)
    there = (at >= 0) & np.isfinite(one.points).all(1)
    at = at[there]
    maps = run.maps
    heat = {}
    if maps is not None and len(maps.row):
        known = np.isin(maps.row, one.row[there])
        heat = {"map_rows": maps.row[known], "maps": shrunk(maps.heat[known])}
    return Points(
        name,
        one.points[there],
        one.row[there],
        answers.label[at],
        answers.predicted[at],
        answers.probabilities.max(1)[at].astype(np.float32),
        quality=separation(one.features, one.label, one.points),
        **heat,  # type: ignore[arg-type]
    )


def shrunk(heat: NDArray[np.float32], side: int = SIDE) -> NDArray[np.float32]:
    """Average maps over the cells of a coarser grid, where they divide evenly.

    >>> shrunk(np.arange(4, dtype=np.float32).reshape(1, 2, 2), 1).tolist()
    [[[1.5]]]
    """
    N, H, W = heat.shape
    if H % side or W % side:
        return heat
    return heat.reshape(N, side, H // side, side, W // side).mean((2, 4))


def separation(
    features: NDArray[np.floating], labels: NDArray[np.int64], points: NDArray[np.floating]
) -> dict[str, float]:
    """Say how well classes separate in feature space, (N, D), and in a plane made from it, (N, 2).

    The numbers are those of `fer_lightning.look.metrics.embedding_quality`, which needs torch.

    Returns:
        The keys of `COLUMNS`; NaN where there are too few images or all are equal.

    >>> rows = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]] * 2)
    >>> found = separation(rows, np.array([0, 0, 0, 1, 1, 1] * 2), rows)
    >>> found["knn_features"], found["silhouette_points"] > 0.9
    (1.0, True)
    """
    from sklearn.manifold import trustworthiness  # takes a second, which other sections need not
    from sklearn.metrics import silhouette_score

    found = dict.fromkeys(COLUMNS, math.nan)
    spaces = {"features": features.astype(np.float64), "points": points.astype(np.float64)}
    usable = {name: rows for name, rows in spaces.items() if _usable(rows)}
    for name, rows in usable.items():
        found[f"knn_{name}"] = _knn_accuracy(rows, labels)
        if 2 <= len(np.unique(labels)) < len(labels):
            found[f"silhouette_{name}"] = float(silhouette_score(rows, labels))
    if len(usable) == 2:
        found["trustworthiness"] = float(trustworthiness(*usable.values(), n_neighbors=NEIGHBOURS))
    return found


def _usable(rows: NDArray[np.float64]) -> bool:
    enough = len(rows) > 2 * NEIGHBOURS
    return enough and bool(np.isfinite(rows).all()) and not bool((rows == rows[0]).all())


def _knn_accuracy(rows: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Predict each class from its nearest neighbours, a tie going to the nearest of the tied."""
    from sklearn.neighbors import NearestNeighbors

    votes = labels[NearestNeighbors(n_neighbors=NEIGHBOURS).fit(rows).kneighbors()[1]]  # (N, k)
    support = (votes[:, :, None] == votes[:, None, :]).sum(2)  # how many agree with each vote
    winner = votes[np.arange(len(votes)), support.argmax(1)]
    return float((winner == labels).mean())


def _quality(scatter: Scatter, found: dict[str, Embedding]) -> Table:
    rows = tuple(
        (
            points.name,
            len(one.row),
            one.features.shape[1],
            *(number(points.quality.get(name), 3) for name in COLUMNS),
            number(float(np.bincount(one.label).max() / len(one.label)), 3),
        )
        for points, one in zip(scatter.models, found.values(), strict=True)
    )
    return Table(
        "embedding",
        f"How well the {NEIGHBOURS} nearest neighbours tell the class, and how far classes lie "
        "apart.",
        ("run", "images", "features", *COLUMNS.values(), "largest class"),
        rows,
        ("Trustworthiness: how far neighbours in the plane are neighbours in feature space.",),
    )
