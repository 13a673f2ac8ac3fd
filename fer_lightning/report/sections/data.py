"""What the models were trained and tested on, and whether the test was seen in training."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.labels import MOST_NAMED, some_names
from fer_lightning.report.content import Item, Table, Text
from fer_lightning.report.parts import about, number, percent
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.run import Run

COUNTS = {
    "moved": "images moved to keep copies on one side",
    "dropped": "images left out as copies or for conflicting labels",
    "val_with_twin_in_train": "validation images with an identical twin in train",
    "test_with_twin_in_train": "test images with an identical twin in train",
}
DUPLICATES = {
    "near": "copies and near-twins on one side",
    "group": "copies on one side",
    "drop": "copies left out",
    "keep": "copies where they fall",
}


@section("data", "Data and leakage", place=20)
def data(material: Material) -> list[Item]:
    """Audit the data and the split."""
    collection = material.runs
    first = collection.runs[0]
    protocols = sorted(
        {str(run.at("split", "protocol") or "not recorded") for run in collection.runs}
    )
    return [
        Text(
            f"Data: {about(collection)}, {len(first.classes)} classes: "
            f"{some_names(first.classes)}. "
            f"Split: {', '.join(protocols)}{_duplicates(collection)}."
        ),
        *_leaks(collection),
        *_near_twins(collection),
        *_notes(collection),
        _parts(collection),
        _classes(first),
    ]


def _leaks(collection: Collection) -> list[Text]:
    """Say whether test images have a twin in train: the worst run counts."""
    name = "test_with_twin_in_train"
    counted = [(run.at("split", "counts", name), run) for run in collection.runs]
    known = [(int(count), run) for count, run in counted if count is not None]
    if not known:
        return [Text("How many test images have a twin in train was not recorded.", "note")]
    worst, run = max(known, key=lambda pair: pair[0])
    images = run.at("images", "test")
    if not worst:
        return [Text("No test image has an identical twin among the training images.")]
    share = f", {100 * worst / images:.1f} %," if isinstance(images, int) and images else ""
    return [
        Text(
            f"**The test leaks**: {worst} test images{share} have an identical twin among the "
            f"training images of {run.shown_as}; accuracies are too high by up to that share."
            f"{_accuracy_there(run)}",
            "note",
        )
    ]


def _duplicates(collection: Collection) -> str:
    found = {run.at("split", "duplicates") for run in collection.runs} & DUPLICATES.keys()
    return "".join(f", {DUPLICATES[name]} (`{name}`)" for name in sorted(found))


def _near_twins(collection: Collection) -> list[Item]:
    """Say what the photographs that were trained on are worth, run by run."""
    known = [(run, run.near_twins) for run in collection.runs if run.near_twins is not None]
    if not known:
        return []
    if not any(len(twins) for _, twins in known):
        return [Text("No test image has a near-twin among the training images.")]
    rows = tuple(_worth(run, twins) for run, twins in known)
    missing = len(collection.runs) - len(known)
    return [
        Table(
            "near_twins",
            "Accuracy without the test images whose photograph is among the training images, "
            "identical or nearly so.",
            (
                *("run", "test images", "with a twin or near-twin", "accuracy"),
                *("on these", "without them", "worth (points)"),
            ),
            rows,
            (
                "A near-twin is the same photograph, cropped a pixel or two apart, scaled or "
                "encoded again: the middles of both correlate by at least 0.9. Worth: what the "
                "accuracy loses without these images; below 0 they were recognised less often.",
                *([f"Near-twins of {missing} runs were not sought."] if missing else []),
            ),
        )
    ]


def _worth(run: Run, twins: NDArray[np.int64]) -> tuple[Any, ...]:
    right = run.predictions.correct
    seen = np.isin(run.predictions.row, twins)
    there, others = (right[part].mean() if part.any() else math.nan for part in (seen, ~seen))
    numbers = (number(value) for value in (right.mean(), there, others))
    worth = number(100 * (right.mean() - others), 2)
    return (run.shown_as, len(right), int(seen.sum()), *numbers, worth)


def _accuracy_there(run: Run) -> str:
    found = run.summary.get("leaking")
    if not isinstance(found, Mapping):
        return ""
    there, elsewhere = (number(found.get(name), 3) for name in ("acc", "acc_others"))
    return f" Accuracy there {there}, elsewhere {elsewhere}."


def _notes(collection: Collection) -> list[Text]:
    lines: dict[str, None] = {}
    for run in collection.runs:
        notes = run.summary.get("notes")
        if isinstance(notes, Mapping):
            lines |= dict.fromkeys(f"{key}: {value}" for key, value in notes.items())
        lines |= dict.fromkeys(str(line) for line in run.at("split", "notes") or [])
    return [Text(f"Note on the data: {line}") for line in list(lines)[:20]]


def _parts(collection: Collection) -> Table:
    """Images of each part; runs of one fraction that differ get a row each."""
    rows: dict[tuple[Any, ...], None] = {}
    for run in sorted(collection.runs, key=lambda run: run.fraction):
        parts = (number(run.at("images", part)) for part in ("train", "val", "test"))
        counts = (number(run.at("split", "counts", name)) for name in COUNTS)
        rows[(percent(run.fraction), *parts, *counts)] = None
    return Table(
        "split",
        "Images in each part; validation and test never shrink with the fraction.",
        ("training data", "train", "validation", "test", *COUNTS.values()),
        tuple(rows),
    )


def _classes(run: Run) -> Table:
    """Images of each class among the test images: the largest is what guessing reaches."""
    labels = np.bincount(run.predictions.label, minlength=len(run.classes))
    total = int(labels.sum())
    shown = np.arange(len(run.classes))
    many = len(shown) > MOST_NAMED
    if many:
        shown = np.argsort(-labels, kind="stable")[:MOST_NAMED]
    rows = tuple(
        (run.classes[k], int(labels[k]), number(labels[k] / total))
        for k in shown.tolist()
        if k < len(run.classes)
    )
    which = f"The {MOST_NAMED} largest of {len(run.classes):,} classes" if many else "Classes"
    return Table(
        "classes",
        f"{which} of the {total:,} test images.",
        ("class", "test images", "share"),
        rows,
        (f"Always answering the largest class reaches an accuracy of {labels.max() / total:.3f}.",),
    )
