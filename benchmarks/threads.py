"""`--threads=auto` against one thread for each processor, beside a process that keeps one busy."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from benchmarks.harness import Row, compare
from benchmarks.share_of_limit import step
from fer_lightning.execution.threads import choose_threads

STEPS = 3


@contextmanager
def busy_process() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def measure() -> list[Row]:
    before, all_of_them = torch.get_num_threads(), len(os.sched_getaffinity(0))
    os.environ.pop("OMP_NUM_THREADS", None)  # it would decide
    try:
        with busy_process():
            chosen, why = choose_threads(all_of_them)
            rows = [_compare(name, chosen, all_of_them, why) for name in ("vit", "cnn")]
    finally:
        torch.set_num_threads(before)
    return rows


def _compare(name: str, chosen: int, all_of_them: int, why: str) -> Row:
    _, run = step(name)

    def with_threads(number: int) -> None:
        torch.set_num_threads(number)
        for _ in range(STEPS):
            run()

    return compare(
        f"{name}: {STEPS} steps beside a busy process, {chosen} threads ({why}) against "
        f"{all_of_them}",
        lambda: with_threads(chosen),
        lambda: with_threads(all_of_them),
        target=1.0,
        repeats=5,
    )
