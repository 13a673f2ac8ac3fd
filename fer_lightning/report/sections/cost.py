"""What each model costs: size, arithmetic, time and memory, from the summaries of its runs."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from fer_lightning.plots.trade_off import Point, accuracy_by_cost, pareto
from fer_lightning.report.content import Item, Picture, Table, Text
from fer_lightning.report.parts import about, by_cell, mean, number, percent
from fer_lightning.report.sections.accuracy import level_of
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.run import Run

FEWEST = 3  # models of different cost that make a picture


class Cost(NamedTuple):
    """Means over the seeds of one model and fraction; NaN where no run has the number."""

    model: str
    fraction: float
    seeds: int
    parameters: float
    mflops: float  # of one image, two operations per multiply-add
    latency_ms_1: float  # median seconds of a pass, one image
    latency_ms_64: float  # of 64 images
    memory_mb: float
    train_minutes: float
    epochs: float
    ece: float
    ece_floor: float
    hardware: str  # where training and latency were measured


def costs(collection: Collection) -> list[Cost]:
    """Average the costs of every model and fraction.

    >>> costs(Collection(runs=()))
    []
    """
    return [_cost(*cell) for cell in by_cell(collection)]


def _cost(model: str, fraction: float, runs: Sequence[Run]) -> Cost:
    def over_seeds(*names: str) -> float:
        return mean(run.at(*names) for run in runs)

    where = sorted({str(run.summary.get("hardware", "not recorded")) for run in runs})
    return Cost(
        model,
        fraction,
        len(runs),
        over_seeds("parameters"),
        2 * over_seeds("multiply_adds") / 1e6,
        over_seeds("cost", "latency_ms_1"),
        over_seeds("cost", "latency_ms_64"),
        over_seeds("cost", "peak_memory_bytes") / 2**20,
        over_seeds("seconds") / 60,
        over_seeds("epochs"),
        over_seeds("test", "ece"),
        over_seeds("test", "ece_floor"),
        "; ".join(where),
    )


COLUMNS = {  # of `Cost` → its head and decimals
    "parameters": ("parameters", None),
    "mflops": ("MFLOPs an image", 1),
    "latency_ms_1": ("latency, ms, batch 1", 2),
    "latency_ms_64": ("latency, ms, batch 64", 1),
    "memory_mb": ("peak memory, MB", 0),
    "train_minutes": ("training, minutes", 1),
    "epochs": ("epochs", 1),
    "ece": ("ECE", 3),
    "ece_floor": ("ECE floor", 3),
}


@section("cost", "Cost", place=100)
def cost(material: Material) -> list[Item]:
    """Lay out what every model costs."""
    found = costs(material.runs)
    items: list[Item] = [*_pictures(material.runs, found), _table(found)]
    if any(math.isnan(one.latency_ms_1) for one in found):
        items.append(
            Text("Gaps: runs of an earlier version did not measure latency and memory.", "note")
        )
    if len({one.hardware for one in found}) > 1:
        items.append(
            Text("**Runs on different hardware**: compare times within one kind only.", "note")
        )
    return items


def _pictures(collection: Collection, found: list[Cost]) -> list[Picture]:
    """Draw accuracy against arithmetic at each fraction with three models or more."""
    pictures = []
    for fraction in collection.fractions:
        points = {
            one.model: Point(one.mflops, *level_of(collection, one.model, fraction)[1:])
            for one in found
            if one.fraction == fraction and one.mflops > 0
        }
        if len({point.x for point in points.values()}) < FEWEST:
            continue
        front = ", ".join(f"{n} ({points[n].x:.3g}, {points[n].mean:.3f})" for n in pareto(points))
        pictures.append(
            Picture(
                f"accuracy_by_cost_{100 * fraction:g}",
                f"Test accuracy against arithmetic at {percent(fraction)} of the training images.",
                f"Most accurate for their cost (MFLOPs, accuracy): {front}",
                accuracy_by_cost(
                    points,
                    "MFLOPs an image",
                    f"Accuracy by arithmetic, {percent(fraction)}: {about(collection)}",
                    "Bars: 95 % intervals over test images, and trainings where there are several. "
                    "The line joins models that no cheaper one reaches.",
                ),
            )
        )
    return pictures


def _table(found: list[Cost]) -> Table:
    rows = tuple(
        (
            one.model,
            percent(one.fraction),
            *(number(getattr(one, name), digits) for name, (_, digits) in COLUMNS.items()),
            one.hardware,
        )
        for one in found
    )
    heads = (head for head, _ in COLUMNS.values())
    return Table(
        "cost",
        "Parameters, arithmetic, latency, memory, training time and calibration.",
        ("model", "training data", *heads, "hardware"),
        rows,
        (
            "Means over seeds. FLOPs count two per multiply-add. Latency is the median of repeated "
            "forward passes after the test, on the hardware that trained. Memory is what tensors "
            "took at most on a GPU; on a CPU it is the largest size of the whole training process, "
            "data set and libraries included. The machines may have done "
            "other work meanwhile.",
        ),
    )
