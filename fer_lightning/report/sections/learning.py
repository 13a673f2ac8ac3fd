"""How fast models learn: curves, and the epochs they need to reach a given accuracy."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fer_lightning.keys import ACC, EPOCH, key
from fer_lightning.plots.curves import Line, Panel, model_curves, training_curves
from fer_lightning.report.content import Item, Picture, Table, Text
from fer_lightning.report.parts import about, lacking, number, percent
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.run import Run

VAL_ACC = key("val", ACC)
STEP = 0.1  # between the accuracies to reach
MOST_LEVELS = 6
LAST = 0.2  # share of a training at its end whose slope says whether it had converged
LEAST = 3  # validations in it
RISE = 0.005  # of accuracy, which half a point is: what another such share would have added


@section("learning", "Learning curves", place=40)
def learning(material: Material) -> list[Item]:
    """Draw validation accuracy over epochs, and count epochs."""
    collection = material.runs
    curves = {run.name: curve for run in collection.runs if (curve := curve_of(run)) is not None}
    without = [run for run in collection.runs if run.name not in curves]
    items = lacking(without, "metrics.csv with validation accuracies")
    if curves:
        if len(collection.runs) > 1:
            items.append(_picture(collection, curves))
        items.append(_epochs(collection, curves))
    if collection.study.get("equal_steps"):
        items.append(Text("Smaller fractions took as many steps as the largest: more epochs."))
    return items


def learning_picture(collection: Collection) -> Picture | None:
    """Draw the curves of a single run, which stand on the first screen."""
    (run,) = collection.runs
    return _single(run, about(collection), largest_class(run)) if curve_of(run) else None


def curve_of(run: Run) -> Line | None:
    """Return the epochs, from 0 as in files, and validation accuracies; None without any."""
    table = run.metrics
    if EPOCH not in table or VAL_ACC not in table:
        return None
    known = table[[EPOCH, VAL_ACC]].apply(pd.to_numeric, errors="coerce").dropna()
    if known.empty:
        return None
    return known[EPOCH].to_numpy(np.float64), known[VAL_ACC].to_numpy(np.float64)


def _picture(collection: Collection, curves: dict[str, Line]) -> Picture:
    majority = largest_class(collection.runs[0])
    panels = [
        Panel(
            f"{percent(fraction)} of the training images",
            {
                model: [
                    curves[run.name]
                    for run in collection.select(model, fraction)
                    if run.name in curves
                ]
                for model in collection.models
            },
            {"largest class alone": majority},
        )
        for fraction in collection.fractions
    ]
    best = "; ".join(f"{name}: {values.max():.3f}" for name, (_, values) in curves.items())
    return Picture(
        "learning_curves",
        "Validation accuracy over epochs, one line per seed.",
        f"Best validation accuracy of each run: {best}",
        model_curves(
            panels,
            collection.models,
            "validation accuracy",
            f"Learning curves: {about(collection)}",
            "One line per training run. A line ends where the run did, by early stopping or its "
            "last epoch.",
        ),
    )


def _single(run: Run, data: str, majority: float) -> Picture:
    """Loss and accuracy of training and validation, of one run."""
    rows = [{str(k): v for k, v in row.items()} for row in run.metrics.to_dict("records")]
    figure = training_curves(rows, f"{run.shown_as}: {data}", majority)
    caption = "Loss and accuracy over epochs."
    return Picture("training_curves", caption, figure.get_supxlabel(), figure)


def largest_class(run: Run) -> float:
    """Return the share of the largest class among the test images."""
    labels = np.bincount(run.predictions.label)
    return float(labels.max() / labels.sum())


def levels(curves: dict[str, Line], majority: float) -> list[float]:
    """Choose round accuracies between guessing and the best that any run reached.

    >>> line = (np.array([0.0]), np.array([0.52]))
    >>> levels({"a": line}, 0.25)
    [0.3, 0.4, 0.5]
    """
    best = max(values.max() for _, values in curves.values())
    step = STEP if best - majority > 2 * STEP else STEP / 4
    first, last = math.floor(majority / step) + 1, math.floor(best / step + 1e-9)
    return [round(step * k, 4) for k in range(first, last + 1)][-MOST_LEVELS:]


def epochs_to_reach(line: Line, level: float) -> int | None:
    """Return how many epochs of training it took; None where it was never reached.

    >>> epochs_to_reach((np.array([0.0, 1.0]), np.array([0.2, 0.4])), 0.3)
    2
    """
    epochs, values = line
    reached: NDArray[np.intp] = np.flatnonzero(values >= level)
    return int(epochs[reached[0]]) + 1 if len(reached) else None


class End(NamedTuple):
    """How a training ended."""

    slope: float | None  # of validation accuracy over the last fifth, per epoch
    words: str


def end_of(line: Line) -> End:
    """Say whether a run was still learning when it ended, by the last fifth of its epochs.

    It was still rising where the best epoch lies there and the slope would add half a point in as
    many epochs again, falling where it would take as much away, and else at a plateau.

    >>> epochs = np.arange(30.0)
    >>> end_of((epochs, 0.3 + 0.002 * epochs)).words, end_of((epochs, 0.5 - 0 * epochs)).words
    ('still rising', 'at a plateau')
    >>> end_of((epochs[:4], 0.1 * epochs[:4])).words
    'too short to tell'
    """
    epochs, values = line
    span = LAST * (epochs[-1] + 1)
    late = epochs > epochs[-1] - span
    if late.sum() < LEAST:
        return End(None, "too short to tell")
    slope = float(np.polyfit(epochs[late], values[late], 1)[0])
    if slope * span >= RISE and late[values.argmax()]:
        return End(slope, "still rising")
    return End(slope, "falling" if slope * span <= -RISE else "at a plateau")


def _epochs(collection: Collection, curves: dict[str, Line]) -> Table:
    wanted = levels(curves, largest_class(collection.runs[0]))
    rows = tuple(
        (
            run.model,
            percent(run.fraction),
            run.seed,
            round(float(curves[run.name][1].max()), 4),
            int(curves[run.name][0][curves[run.name][1].argmax()]) + 1,
            int(curves[run.name][0][-1]) + 1,
            number(None if (end := end_of(curves[run.name])).slope is None else 100 * end.slope, 3),
            end.words,
            *(epochs_to_reach(curves[run.name], level) for level in wanted),
        )
        for run in collection.runs
        if run.name in curves
    )
    return Table(
        "epochs_to_reach",
        "Epochs of training until a validation accuracy was first reached."
        if wanted
        else "Best validation accuracy of each run, and after how many epochs.",
        (
            *("model", "training data", "seed", "best", "best after", "epochs"),
            *("points per epoch at the end", "at the end"),
            *(f"to {level:g}" for level in wanted),
        ),
        rows,
        (
            *(("A gap: never reached in this run.",) if wanted else ()),
            "The end is the last fifth of a run's epochs. Still rising: its best epoch lies there "
            "and the slope would add half a point in as many epochs again; such a run says how "
            "fast a model learns, not how far it gets.",
        ),
    )
