"""The features of the test images laid out in the plane; hovering a point shows its face."""

import numpy as np
from numpy.typing import NDArray

from fer_lightning.study.arrays import Embedding, places, read_embedding, read_maps
from fer_lightning.study.collect import Collection
from fer_lightning.study.report.content import Item, Points, Scatter, Section, Table, Text
from fer_lightning.study.report.parts import examples, lacking, number, percent, shown_fraction
from fer_lightning.study.run import Run

NEIGHBOURS = 5  # as in the runs' own numbers
SIDE = 12  # pixels of a map in the page: finer than any grid that it came from needs


def embedding(collection: Collection, faces: bool = True) -> Section:
    """Lay out one run of each model, and say how far classes separate in feature space."""
    runs = examples(collection)
    found = {model: read for model, run in runs.items() if (read := read_embedding(run))}
    items: list[Item] = lacking(
        [run for model, run in runs.items() if model not in found], "features.npz", ""
    )  # type: ignore[assignment]
    if found:
        items += [
            Text(
                "t-SNE keeps neighbours together; distances between clusters and their sizes mean "
                "nothing. Judge separation by the numbers in feature space."
            ),
            _scatter(runs, found, faces, percent(shown_fraction(collection))),
            _quality(runs, found),
        ]
        if faces and all(one.faces is None for one in found.values()):
            items.append(Text("These runs kept no faces, so points show none.", "note"))
        if not faces:
            items.append(Text("Faces were left out of this report on request.", "note"))
    return Section("embedding", "Features of the test images", tuple(items))


def _scatter(
    runs: dict[str, Run], found: dict[str, Embedding], faces: bool, fraction: str
) -> Scatter:
    models = tuple(_points(runs[model], one) for model, one in found.items())
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
        "seed a model.",
        tuple(first.classes),
        models,
        **shown,
    )


def _points(run: Run, one: Embedding) -> Points:
    answers = run.predictions
    at = places(one.row, answers.row)
    there = (at >= 0) & np.isfinite(one.points).all(1)
    at = at[there]
    maps = read_maps(run)
    heat = {}
    if maps is not None and len(maps.row):
        known = np.isin(maps.row, one.row[there])
        heat = {"map_rows": maps.row[known], "maps": shrunk(maps.heat[known])}
    return Points(
        run.name,
        one.points[there],
        one.row[there],
        answers.label[at],
        answers.predicted[at],
        answers.probabilities.max(1)[at].astype(np.float32),
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


def _quality(runs: dict[str, Run], found: dict[str, Embedding]) -> Table:
    rows = tuple(
        (
            runs[model].name,
            len(one.row),
            one.features.shape[1],
            number(knn_accuracy(one.features, one.label)),
            number(knn_accuracy(one.points, one.label)),
            number(float(np.bincount(one.label).max() / len(one.label))),
        )
        for model, one in found.items()
    )
    return Table(
        "embedding",
        f"How well {NEIGHBOURS} nearest neighbours tell the class.",
        (
            "run",
            "images",
            "features",
            "kNN accuracy, feature space",
            "kNN accuracy, t-SNE",
            "largest class",
        ),
        rows,
    )


def knn_accuracy(rows: NDArray[np.float32], classes: NDArray[np.int64]) -> float:
    """Predict each class from its nearest neighbours, a tie going to the nearest of the tied.

    NaN where there are too few images, or all features are equal.

    >>> rows = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]] * 2, np.float32)
    >>> knn_accuracy(rows, np.array([0, 0, 0, 1, 1, 1] * 2))
    1.0
    """
    N = len(rows)
    if N <= 2 * NEIGHBOURS or not np.isfinite(rows).all() or (rows == rows[0]).all():
        return float("nan")
    x = rows.astype(np.float64)
    squares = (x**2).sum(1)
    distance = squares[:, None] + squares - 2 * (x @ x.T)
    np.fill_diagonal(distance, np.inf)
    nearest = np.argpartition(distance, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    order = np.take_along_axis(distance, nearest, 1).argsort(1, kind="stable")
    votes = classes[np.take_along_axis(nearest, order, 1)]  # (N, k), nearest first
    support = (votes[:, :, None] == votes[:, None, :]).sum(2)
    winner = votes[np.arange(N), support.argmax(1)]
    return float((winner == classes).mean())
