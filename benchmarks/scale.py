"""What many cells, many faces and many GPUs meet first: small parts measured here, per unit.

    python -m benchmarks.scale                    (minutes on one core)
    python -m benchmarks.scale plan --of 10000    (one part, of as many)

``plan``: the cells of a study are written out, placed, and its study.json is written.
``collect``: finished runs, written by the tests' generator, are read into one table, and reported.
``faces``: random 48x48 pictures get their fingerprint, their copies found, their split.
``gradients``: two processes add up the gradients of the ViT through gloo on loopback.
"""

import argparse
import json
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from fer_lightning.commands.study import fingerprint_of, resolve_with_data
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.data.image_set import ImageSet, Usage
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.execution.study.cells import make_cells
from fer_lightning.execution.study.execute import place_jobs
from fer_lightning.execution.study.plan import read_study
from fer_lightning.execution.study.results import write_plan
from fer_lightning.models import create_model
from fer_lightning.report.write import write_report
from fer_lightning.runs.collection import collect
from fer_lightning.runs.files import read_json

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
from report_runs import write_run

STUDY = """
models: {cnn: {}, vit: {}}
overrides: {data.source: drawn, data.drawn.size: 280}
fractions: [1.0]
seeds: %s
"""
STEPS = 50  # sums of gradients that are timed


def timed(what: str, work: Callable[[], Any], units: int = 0) -> Any:
    """Do it, and print its seconds and how many of its units that is a second."""
    began = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - began
    print(f"{what}: {seconds:.3f} s" + (f", {units / seconds:,.0f} a second" if units else ""))
    return result


def plan(cells: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        out, path = Path(name, "out"), Path(name, "study.yaml")
        path.write_text(STUDY % list(range(cells // 2)))
        study = read_study(path)
        made = timed(
            f"plan {cells:,} cells",
            lambda: make_cells(study, resolve_with_data, fingerprint_of),
            cells,
        )
        jobs = timed("look what is done", lambda: place_jobs(made, out, {}), cells)
        folders = [(job.cell, job.folder.path.name) for job in jobs]
        timed("write study.json", lambda: write_plan(out, study, folders))
        print(f"study.json: {(out / 'study.json').stat().st_size:,} bytes")
        timed("prepare folders", lambda: [j.folder.prepare(j.cell) for j in jobs[:200]], 200)


def runs(count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "runs")
        first = write_run(root, images=3589, probe=200, looked=200, side=48, epochs=30)
        summary = read_json(first / "summary.json")
        size = sum(path.stat().st_size for path in first.rglob("*") if path.is_file())
        print(f"a run: {size:,} bytes")
        for seed in range(2, count + 1):
            one = root / f"seed{seed}"
            shutil.copytree(first, one)
            for file in ("summary.json", "run.json"):
                content = json.dumps(summary | {"seed": seed, "run": one.name})
                (one / file).write_text(content)
        paths = sorted(root.glob("*/summary.json"))
        timed("read summary.json", lambda: [read_json(path) for path in paths], count)
        before = getrusage(RUSAGE_SELF).ru_maxrss
        found = timed(f"collect {count:,} runs", lambda: collect([root]), count)
        kibibytes = getrusage(RUSAGE_SELF).ru_maxrss - before
        print(f"memory: {1024 * kibibytes / count:,.0f} bytes a run")
        timed(f"report of {count:,} runs", lambda: write_report(found, Path(name, "report")), count)


def faces(count: int) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (count, 1, 48, 48), np.uint8)
    labels = np.arange(count) % 7
    usage = np.full(count, Usage.UNKNOWN, np.int8)
    files = np.array([f"row {row}" for row in range(count)])
    data = FERDataModule.of(ImageSet("noise", images, labels, usage, FER_CLASSES, files))
    print(f"{count:,} faces: {images.nbytes:,} bytes")
    timed("fingerprint", lambda: data.image_set.fingerprint, images.nbytes)
    timed("copies and near-twins", lambda: data.twins, count)
    timed("split", lambda: data.split, count)
    print(f"split.json: {len(json.dumps(data.manifest(), indent=1)):,} bytes")


def add_up(rank: int, port: int, size: int) -> None:
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    gradients = torch.ones(size)
    dist.all_reduce(gradients)
    began = time.perf_counter()
    for _ in range(STEPS):
        dist.all_reduce(gradients)
    if rank == 0:
        per_step = (time.perf_counter() - began) / STEPS
        print(f"add up over two processes: {1000 * per_step:.1f} ms a step")
    dist.destroy_process_group()


def gradients(_: int) -> None:
    size = sum(weights.numel() for weights in create_model("vit").parameters())
    print(f"vit: {size:,} parameters, {4 * size:,} bytes of gradients a step")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(add_up, (port, size), nprocs=2)


PARTS = {
    "plan": (plan, 10_000),
    "collect": (runs, 200),
    "faces": (faces, 100_000),
    "gradients": (gradients, 0),
}

if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("parts", nargs="*", default=[*PARTS], metavar="PART")
    options.add_argument("--of", type=int, help="cells, runs or faces")
    given = options.parse_args()
    for part in given.parts:
        measure, usual = PARTS[part]
        measure(given.of or usual)
