"""The features of the test images laid out in the plane; hovering a point shows its face."""

import numpy as np
from numpy.typing import NDArray

from fer_lightning.report.content import Item, Points, Scatter, Section, Table, Text
from fer_lightning.report.parts import examples, lacking, number, percent, shown_fraction
from fer_lightning.report.sections.neighbours import NEIGHBOURS, separation
from fer_lightning.runs.arrays import Embedding, places, read_embedding, read_maps
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.run import Run

COLUMNS = {
    "knn_features": "kNN accuracy, feature space",
    "knn_points": "kNN accuracy, t-SNE",
    "silhouette_features": "silhouette, feature space",
    "silhouette_points": "silhouette, t-SNE",
    "trustworthiness": "trustworthiness",
}
SIDE = 12  # pixels of a map in the page: finer than any grid that it came from needs


def embedding(collection: Collection, faces: bool = True) -> Section:
    """Lay out one run of each model, and say how far classes separate in feature space."""
    runs = examples(collection)
    found = {model: read for model, run in runs.items() if (read := read_embedding(run))}
    items: list[Item] = lacking(
        [run for model, run in runs.items() if model not in found], "features.npz", ""
    )  # type: ignore[assignment]
    if found:
        scatter = _scatter(runs, found, faces, percent(shown_fraction(collection)))
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
