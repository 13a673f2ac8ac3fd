"""Does a model underfit or overfit: accuracy on the images it learned from beside new ones."""

import math

import pandas as pd

from fer_lightning.keys import ACC, key
from fer_lightning.report.content import Item, Table
from fer_lightning.report.parts import by_cell, mean, number, percent
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.run import Run

TRAIN_ACC = key("train", ACC)
WIDE, LOW = 0.1, 0.9  # a gap that is called overfitting; an accuracy that is called learned


@section("generalisation", "Training images against new ones", place=45)
def generalisation(material: Material) -> list[Item]:
    """List the gap between training and test accuracy of every model and fraction."""
    rows = []
    for model, fraction, runs in by_cell(material.runs):
        learned, tested = (
            mean(map(last_train_accuracy, runs)),
            mean(r.at("test", ACC) for r in runs),
        )
        if math.isfinite(learned) and math.isfinite(tested):
            gap = learned - tested
            numbers = (number(learned), number(tested), number(100 * gap, 1))
            rows.append((model, percent(fraction), len(runs), *numbers, in_words(learned, gap)))
    if not rows:
        return []
    return [
        Table(
            "generalisation",
            "Accuracy on training images in the last epoch, on test images, and the gap in points.",
            ("model", "training data", "seeds", "training", "test", "gap", "it"),
            tuple(rows),
            (
                "Means over seeds. Training accuracy is that of the last epoch while the model "
                "learns, with augmented images and dropout, so that a model without a gap may "
                f"still have one on plain images. Underfits: training accuracy below {LOW:g} with "
                f"a gap under {100 * WIDE:g} points; overfits: a gap from there on.",
            ),
        )
    ]


def last_train_accuracy(run: Run) -> float:
    """Return the training accuracy of the last epoch; NaN where none was logged."""
    if TRAIN_ACC not in run.metrics:
        return math.nan
    known = pd.to_numeric(run.metrics[TRAIN_ACC], errors="coerce").dropna()
    return float(known.iloc[-1]) if len(known) else math.nan


def in_words(learned: float, gap: float) -> str:
    """Name what a training accuracy and its gap to the test accuracy mean.

    >>> in_words(0.5, 0.02), in_words(0.8, 0.2), in_words(0.95, 0.01)
    ('underfits', 'overfits', 'fits')
    """
    if gap >= WIDE:
        return "overfits"
    return "underfits" if learned < LOW else "fits"
