"""The cost table."""

import math

from fer_lightning.study.collect import Collection
from fer_lightning.study.cost import Cost, costs
from fer_lightning.study.report.content import Item, Section, Table, Text
from fer_lightning.study.report.parts import number, percent


def cost(collection: Collection) -> Section:
    """Lay out what every model costs."""
    found = costs(collection)
    items: list[Item] = [_table(found)]
    if any(math.isnan(one.latency_ms_1) for one in found):
        items.append(
            Text("Gaps: runs of an earlier version did not measure latency and memory.", "note")
        )
    if len({one.hardware for one in found}) > 1:
        items.append(
            Text("**Runs on different hardware**: compare times within one kind only.", "note")
        )
    return Section("cost", "Cost", tuple(items))


def _table(found: list[Cost]) -> Table:
    rows = tuple(
        (
            one.model,
            percent(one.fraction),
            number(int(one.parameters) if math.isfinite(one.parameters) else None),
            number(one.mflops, 1),
            number(one.latency_ms_1, 2),
            number(one.latency_ms_64, 1),
            number(one.memory_mb, 0),
            number(one.train_minutes, 1),
            number(one.epochs, 1),
            number(one.ece, 3),
            number(one.ece_floor, 3),
            one.hardware,
        )
        for one in found
    )
    return Table(
        "cost",
        "Parameters, arithmetic, latency, memory, training time and calibration.",
        (
            "model",
            "training data",
            "parameters",
            "MFLOPs an image",
            "latency, ms, batch 1",
            "latency, ms, batch 64",
            "peak memory, MB",
            "training, minutes",
            "epochs",
            "ECE",
            "ECE floor",
            "hardware",
        ),
        rows,
        (
            "Means over seeds. FLOPs count two per multiply-add. Latency is the median of repeated "
            "forward passes after the test, on the hardware that trained. Memory is what tensors "
            "took at most on a GPU; on a CPU it is the largest size of the whole training process, "
            "data set and libraries included. The machines may have done "
            "other work meanwhile.",
        ),
    )
