"""What models cost, averaged over seeds."""

import math
from pathlib import Path

from fer_lightning.report.sections.cost import costs
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.run import Run


def run(seed, **summary):
    return Run(Path(f"run{seed}"), "cnn", 0.3, seed, summary=summary)


def test_means_over_seeds_in_the_units_of_the_table():
    cost = {"latency_ms_1": 2.0, "latency_ms_64": 80.0, "peak_memory_bytes": 3 * 2**20}
    one = {"parameters": 10, "multiply_adds": 5_000_000, "seconds": 60, "epochs": 3, "cost": cost}
    other = one | {"seconds": 180, "cost": cost | {"latency_ms_1": 4.0}}
    (found,) = costs(Collection((run(1, hardware="A", **one), run(2, hardware="A", **other))))
    assert (found.parameters, found.mflops) == (10, 10.0)
    assert (found.latency_ms_1, found.latency_ms_64, found.memory_mb) == (3.0, 80.0, 3.0)
    assert (found.train_minutes, found.seeds, found.hardware) == (2.0, 2, "A")


def test_what_no_run_measured_is_a_gap_and_what_one_did_counts():
    cost = {"latency_ms_1": 2.0, "latency_ms_64": "fast", "peak_memory_bytes": None}
    (found,) = costs(Collection((run(1, hardware="A"), run(2, hardware="B", cost=cost))))
    assert found.latency_ms_1 == 2.0
    assert math.isnan(found.latency_ms_64)
    assert math.isnan(found.memory_mb)
    assert found.hardware == "A; B"
