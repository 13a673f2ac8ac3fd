"""Which class is taken for which, and how often each is recognised."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.labels import MOST_NAMED, some_names
from fer_lightning.plots.answers import confusion_figure
from fer_lightning.report.content import Item, Picture, Table
from fer_lightning.report.parts import about, by_cell, number, percent, shown_fraction
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.run import Run


@section("confusion", "Confusion", place=80)
def confusion(material: Material) -> list[Item]:
    """Draw one matrix per model, all seeds of the shown fraction together."""
    collection = material.runs
    fraction = shown_fraction(collection.runs)
    items: list[Item] = []
    for model, at, runs in by_cell(collection):
        if at != fraction:
            continue
        classes = runs[0].classes
        counts = sum((counted(run) for run in runs), np.zeros((len(classes),) * 2, np.int64))
        items.append(
            Picture(
                f"confusion_{model}",
                f"{model} at {percent(fraction)} of the training data, {_seeds(runs)}.",
                _words(counts, classes),
                confusion_figure(
                    counts,
                    classes,
                    f"{model} at {percent(fraction)}, test images of {about(collection)}",
                ),
            )
        )
    return [*items, _recall(collection)]


def _seeds(runs: Sequence[Run]) -> str:
    seeds = ", ".join(str(run.seed) for run in runs)
    return f"seeds {seeds} together" if len(runs) > 1 else f"seed {seeds}"


def counted(run: Run) -> NDArray[np.int64]:
    """Count answers, (K, K): one row per true class, one column per answer."""
    K = max(len(run.classes), run.predictions.logits.shape[1])
    flat = run.predictions.label * K + run.predictions.predicted
    return np.bincount(flat, minlength=K * K).reshape(K, K)


def _words(counts: NDArray[np.int64], classes: list[str]) -> str:
    totals = np.maximum(counts.sum(1), 1)
    recall = some_names(
        [
            f"{name} {share:.2f}"
            for name, share in zip(classes, counts.diagonal() / totals, strict=True)
        ]
    )
    off = counts - np.diag(counts.diagonal())
    row, column = np.unravel_index(off.argmax(), off.shape)
    worst = f"; most often {classes[row]} is taken for {classes[column]}" if off.any() else ""
    return f"Recall: {recall}{worst}"


def _recall(collection: Collection) -> Table:
    classes = collection.runs[0].classes
    shown, notes = np.arange(len(classes)), list[str]()
    if len(classes) > MOST_NAMED:
        largest = np.argsort(-np.bincount(collection.runs[0].predictions.label), kind="stable")
        shown = np.sort(largest[:MOST_NAMED])
        notes = [f"The {MOST_NAMED} largest of {len(classes):,} classes."]
    rows = []
    for model, fraction, runs in by_cell(collection):
        counts = np.sum([counted(run) for run in runs], axis=0)
        totals = counts.sum(1)
        with np.errstate(invalid="ignore"):
            recall = counts.diagonal() / np.where(totals > 0, totals, np.nan)
        top = counts.sum(0).max() / counts.sum()
        values = (number(float(value), 3) for value in recall[shown])
        rows.append((model, percent(fraction), *values, number(float(top), 3)))
    return Table(
        "recall",
        "Recall of each class" + (", seeds together." if len(collection.seeds) > 1 else "."),
        (
            "model",
            "training data",
            *(classes[k] for k in shown),
            "share of the most frequent answer",
        ),
        tuple(rows),
        ("A model whose most frequent answer takes all images has not begun to learn.", *notes),
    )
