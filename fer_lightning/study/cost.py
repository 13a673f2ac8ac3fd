"""What each model costs: size, arithmetic, time and memory, from the summaries of its runs."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from fer_lightning.study.collect import Collection
from fer_lightning.study.run import Run


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
