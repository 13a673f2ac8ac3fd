"""What logging everything costs at the end of an epoch, against no logger.

    python -m benchmarks.logging_cost
    python -m benchmarks.logging_cost --model cnn --data fer2013.zip

One training, all callbacks of the shipped configs; in every second epoch the trackers of a run are
there (metrics.csv, W&B offline, TensorBoard), in the others none. Everything is logged between the
last training step of an epoch and the first of the next, so the difference of the medians is what
logging costs; what trackers go on doing in the background shows in the next epoch's steps, whose
ratio is printed. The cost is set against an epoch of FER-2013's training part: 28,709 images at the
measured time of a step. Pictures are drawn in both kinds of epoch: `benchmarks.callbacks`.
"""

import argparse
import logging
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning as L

from benchmarks.callbacks import FULL_EPOCH, LOOKS, POINTS
from benchmarks.harness import Row, print_table
from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.models import build
from fer_lightning.runs.folder import new_run_folder
from fer_lightning.tracking.tensorboard import TensorBoardTracker
from fer_lightning.tracking.tracker import MetricsCSV
from fer_lightning.tracking.wandb import Wandb, WandbTracker
from fer_lightning.training.module import Classifier

TARGET = 0.03  # of an epoch


def clocked(logger: Any, spent: dict[str, float]) -> None:
    """Add up the time that the training waits for a logger."""

    def timed(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return method(*args, **kwargs)
            finally:
                spent[type(logger).__name__] += time.perf_counter() - began

        return call

    for name in ("log_metrics", "log_picture", "log_table", "log_features"):
        if hasattr(logger, name):
            setattr(logger, name, timed(getattr(logger, name)))


class InTurns(L.Callback):
    """Takes the loggers away in every second epoch and times both kinds.

    Args:
        loggers: of the epochs that are logged.
    """

    def __init__(self, loggers: list[Any]) -> None:
        self.loggers = loggers
        self.ends: dict[bool, list[float]] = {True: [], False: []}  # seconds, logged or not
        self.steps: dict[bool, list[float]] = {True: [], False: []}
        self.last_step = 0.0
        self.logs = False

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        now = time.perf_counter()
        if trainer.current_epoch > 1:  # the first epoch of each kind warms up
            self.ends[self.logs].append(now - self.last_step)
        self.logs = trainer.current_epoch % 2 == 1
        trainer.loggers = self.loggers if self.logs else []

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        now = time.perf_counter()
        if index and trainer.current_epoch > 1:  # steps after a logged epoch carry its background
            self.steps[not self.logs].append(now - self.last_step)
        self.last_step = now


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of logging an epoch.")
    parser.add_argument("--model", default="vit")
    parser.add_argument("--data", help="FER-2013 in any form; drawn faces without it")
    parser.add_argument("--pairs", type=int, default=5, help="epochs of each kind that count")
    parser.add_argument("--steps", type=int, default=30, help="training steps of an epoch")
    parser.add_argument("--images", type=int, default=11 * POINTS, help="drawn faces")
    args = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore")
    os.environ["WANDB_SILENT"] = "true"

    data = (
        FERDataModule(args.data)
        if args.data
        else FERDataModule(source="drawn", drawn=Drawn(args.images))
    )
    L.seed_everything(0, verbose=False)
    with tempfile.TemporaryDirectory() as place:
        folder = new_run_folder(Path(place), "run")
        wandb = WandbTracker(Wandb(mode="offline"), folder, "benchmark")
        loggers = [MetricsCSV(folder.metrics), wandb, TensorBoardTracker(folder)]
        turns = InTurns(loggers)
        spent = {type(one).__name__: 0.0 for one in loggers}
        for one in loggers:
            clocked(one, spent)
        L.Trainer(
            default_root_dir=str(folder.path),
            max_epochs=2 * args.pairs + 3,
            limit_train_batches=args.steps,
            logger=loggers,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
            use_distributed_sampler=False,
            num_sanity_val_steps=0,
            callbacks=[*(kind(every_n_epochs=1) for kind in LOOKS), turns],
        ).fit(Classifier(build(args.model)), data)
        size = sum(path.stat().st_size for path in folder.tensorboard.iterdir())
        wandb.finish()

    step = statistics.median(turns.steps[False])
    epoch = step * FULL_EPOCH / data.batch_size
    ends = {logs: statistics.median(values) for logs, values in turns.ends.items()}
    cost = ends[True] - ends[False]
    name = f"{args.model}: an epoch of {FULL_EPOCH:,} images and its end, all logged, against none"
    whole = epoch + ends[False]
    print_table([Row(name, whole + cost, whole, (whole + cost) / whole, 1 + TARGET)])
    print(f"\nlogging itself: {cost:.2f} s an epoch")
    print(f"ends of epochs, logged: {_list(turns.ends[True])}")
    print(f"ends of epochs, not logged: {_list(turns.ends[False])}")
    for name, seconds in spent.items():
        print(f"in calls of {name}: {seconds / (args.pairs + 1):.3f} s an epoch")
    slower = statistics.median(turns.steps[True]) / step
    print(f"steps after a logged epoch, against those after one that was not: {slower:.3f}")
    print(f"TensorBoard: {size / 1e6 / (args.pairs + 1):.1f} MB an epoch, pictures at each")


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values) + " s"


if __name__ == "__main__":
    main()
