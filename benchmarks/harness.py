"""Timing in turns: both sides of a comparison meet the same noise of the machine."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import lightning as L

Run = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One comparison: `ratio` is ours over the baseline, in time, and at most `target`."""

    name: str
    ours: float  # seconds
    baseline: float
    ratio: float
    target: float

    @property
    def met(self) -> bool:
        return self.ratio <= self.target


class Clock(L.Callback):
    """Seconds from the first step's end to the last one's: without the Trainer's start and end."""

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        now = time.perf_counter()
        self.began = now if batch_idx == 0 else self.began
        self.seconds = now - self.began


def trainer(steps: int, *callbacks: L.Callback, bar: bool = True) -> L.Trainer:
    """A Trainer that trains for some steps and does nothing else."""
    return L.Trainer(
        accelerator="cpu",
        max_steps=steps,
        max_epochs=-1,
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=bar,
        limit_val_batches=0,
        use_distributed_sampler=False,
        callbacks=list(callbacks),
    )


def seconds(run: Run) -> float:
    """Time a call; one that returns a float has measured itself."""
    start = time.perf_counter()
    own = run()
    return own if isinstance(own, float) else time.perf_counter() - start


def compare(
    name: str, ours: Run, baseline: Run, target: float, repeats: int = 7, warm_up: int = 1
) -> Row:
    """Time both in turn and take the median of the turns' ratios."""
    for _ in range(warm_up):
        baseline()
        ours()
    turns = [(seconds(ours), seconds(baseline)) for _ in range(repeats)]
    mine, theirs = zip(*turns, strict=True)
    ratio = statistics.median(a / b for a, b in turns)
    return Row(name, statistics.median(mine), statistics.median(theirs), ratio, target)


def print_table(rows: list[Row]) -> None:
    """Print a Markdown table."""
    print("| what, against its baseline | ours | baseline | time ratio | target | |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row.name} | {_time(row.ours)} | {_time(row.baseline)} | {row.ratio:.3f} "
            f"| at most {row.target:g} | {'met' if row.met else 'MISSED'} |",
            flush=True,
        )


def _time(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.1f} ms"
