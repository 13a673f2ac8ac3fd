"""What each model costs: size, arithmetic, time and memory, from the summaries of its runs."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from fer_lightning.report.content import Item, Table, Text
from fer_lightning.report.parts import number, percent
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.run import Run


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
    return [
        _cost(model, fraction, runs)
        for model in collection.models
        for fraction in collection.fractions
        if (runs := collection.select(model, fraction))
    ]


def _cost(model: str, fraction: float, runs: tuple[Run, ...]) -> Cost:
    def mean(*names: str) -> float:
        return _mean(_at(run, *names) for run in runs)

    where = sorted({str(run.summary.get("hardware", "not recorded")) for run in runs})
    return Cost(
        model,
        fraction,
        len(runs),
        mean("parameters"),
        2 * mean("multiply_adds") / 1e6,
        mean("cost", "latency_ms_1"),
        mean("cost", "latency_ms_64"),
        mean("cost", "peak_memory_bytes") / 2**20,
        mean("seconds") / 60,
        mean("epochs"),
        mean("test", "ece"),
        mean("test", "ece_floor"),
        "; ".join(where),
    )


def _at(run: Run, *names: str) -> Any:
    value: Any = run.summary
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _mean(values: Iterable[Any]) -> float:
    known = [float(v) for v in values if isinstance(v, int | float) and np.isfinite(v)]
    return float(np.mean(known)) if known else float("nan")


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
    items: list[Item] = [_table(found)]
    if any(math.isnan(one.latency_ms_1) for one in found):
        items.append(
            Text("Gaps: runs of an earlier version did not measure latency and memory.", "note")
        )
    if len({one.hardware for one in found}) > 1:
        items.append(
            Text("**Runs on different hardware**: compare times within one kind only.", "note")
        )
    return items


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
