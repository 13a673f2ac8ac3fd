"""The same faces under the maps of every model."""

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.labels import MOST_NAMED
from fer_lightning.plots.galleries import Looked, same_faces
from fer_lightning.report.content import Item, Picture, Text
from fer_lightning.report.parts import about, examples, lacking, percent, places, shown_fraction
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.files import FILES, Embedding, Maps
from fer_lightning.runs.run import Run

PER_CLASS = 2
NO_FACES = "No maps are shown here, for these runs kept no faces to lay them over."


@section("gallery", "The same faces under each model's maps", place=60)
def gallery(material: Material) -> list[Item]:
    """Show faces of each class with every model's maps; say why where they cannot be shown."""
    if not material.faces:
        return [Text("Faces were left out of this report on request.", "note")]
    collection = material.runs
    runs = examples(collection)
    maps = {model: found for model, run in runs.items() if (found := run.maps) is not None}
    without = lacking([run for m, run in runs.items() if m not in maps], FILES["maps"].name)
    if not maps:
        return without
    kept = next((e for m in maps if (e := runs[m].embedding) and e.faces is not None), None)
    if kept is None or kept.faces is None:
        return [*without, Text(NO_FACES, "note")]
    rows = chosen(maps, runs, kept)
    if not len(rows):
        return [Text("No image has both a face and a map of every model.", "note")]
    at = places(rows, kept.row)
    fraction = percent(shown_fraction(collection.runs))
    looked = {
        f"{model}, {method.replace('_', ' ')}": _looked(runs[model], maps[model].row, heat, rows)
        for model in maps
        for method, heat in {maps[model].method: maps[model].heat, **maps[model].others}.items()
    }
    first = next(iter(runs.values()))
    figure = same_faces(
        kept.faces[at],
        kept.label[at],
        looked,
        first.classes,
        f"Maps at {fraction} of the training data: {about(collection)}",
    )
    right = ", ".join(
        f"{name}: {int((one.predicted == kept.label[at]).sum())} answers right, "
        f"{int((one.heat.max((1, 2)) <= 0).sum())} maps without heat"
        for name, one in looked.items()
    )
    picture = Picture(
        "gallery",
        "The same test images under the maps of each model, by each method that was measured.",
        f"{len(rows)} faces: {right}",
        figure,
        faces=True,
    )
    return [*without, picture]


def chosen(maps: dict[str, Maps], runs: dict[str, Run], kept: Embedding) -> NDArray[np.int64]:
    """Take the first images of up to `MOST_NAMED` classes with a face and a map of every model."""
    common = set(kept.row.tolist())
    for model, found in maps.items():
        common &= set(found.row.tolist()) & set(runs[model].predictions.row.tolist())
    rows = np.array(sorted(common), np.int64)
    labels = kept.label[places(rows, kept.row)]
    return np.concatenate(
        [rows[labels == label][:PER_CLASS] for label in np.unique(labels)[:MOST_NAMED]] or [rows]
    )


def _looked(
    run: Run, mapped: NDArray[np.int64], heat: NDArray[np.float32], rows: NDArray[np.int64]
) -> Looked:
    at = places(rows, run.predictions.row)
    return Looked(
        heat[places(rows, mapped)],
        run.predictions.predicted[at],
        run.predictions.probabilities.max(1)[at],
    )
