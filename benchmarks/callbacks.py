"""What looking at a model costs at the end of an epoch.

    python -m benchmarks.callbacks
    python -m benchmarks.callbacks --model cnn --data fer2013.zip

All callbacks of the shipped configs look in the same epoch: 200 maps, t-SNE of 1,000 images, every
picture and table. The baseline, measured in the same run after each epoch, is scikit-learn's t-SNE
of the same features alone plus the forward passes of these 1,000 images. The second table sets each
callback against the training steps of an epoch (by default of all 28,709 images of FER-2013's
training part; by default, too, the embedding looks in every fifth epoch only).
"""

import argparse
import logging
import statistics
import tempfile
import time
import warnings
from collections import defaultdict
from typing import Any

import lightning as L
import torch
from sklearn.manifold import TSNE

from benchmarks.harness import Clock, Row, print_table, seconds
from fer_lightning.callbacks import (
    AttentionCallback,
    ConfusionCallback,
    EmbeddingCallback,
    FocusCallback,
    GradCAMCallback,
)
from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.look.callbacks.look import Look, LookContext
from fer_lightning.models import build
from fer_lightning.training.module import Classifier

FULL_EPOCH = 28_709  # images
POINTS = 1000
LOOKS: tuple[type[Look], ...] = (
    GradCAMCallback,
    FocusCallback,
    EmbeddingCallback,
    ConfusionCallback,
    AttentionCallback,
)


def timed(kind: type[Look], times: dict[str, list[float]]) -> Look:
    """A callback that looks after every epoch and writes down how long it took."""

    def look(self: Any, context: LookContext) -> None:
        times[kind.__name__].append(seconds(lambda: kind.look(self, context)))

    return type(kind.__name__, (kind,), {"look": look})(every_n_epochs=1)


class Baseline(L.Callback):
    """t-SNE alone and the forward passes that it needs, on the same images."""

    def __init__(self) -> None:
        self.tsne: list[float] = []
        self.forward: list[float] = []

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        context = LookContext(trainer, pl_module, "val")
        images = context.probe(POINTS, seed=0).images
        net = context.net
        with torch.no_grad():
            began = time.perf_counter()
            features = torch.cat([net.features(part) for part in images.split(256)])
            self.forward.append(time.perf_counter() - began)
        points = TSNE(perplexity=30, max_iter=1000, random_state=42)
        self.tsne.append(seconds(lambda: points.fit_transform(features.numpy())))


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of the epoch-end callbacks.")
    parser.add_argument("--model", default="vit")
    parser.add_argument("--data", help="FER-2013 in any form; drawn faces without it")
    parser.add_argument("--epochs", type=int, default=4, help="the first one warms up")
    parser.add_argument("--steps", type=int, default=40, help="training steps of an epoch")
    args = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore")

    # enough validation images for the probe of t-SNE
    data = (
        FERDataModule(args.data)
        if args.data
        else FERDataModule(source="drawn", drawn=Drawn(11 * POINTS))
    )
    L.seed_everything(0, verbose=False)
    times: dict[str, list[float]] = defaultdict(list)
    baseline, clock = Baseline(), Clock()
    with tempfile.TemporaryDirectory() as folder:
        L.Trainer(
            default_root_dir=folder,
            max_epochs=args.epochs,
            limit_train_batches=args.steps,
            logger=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
            use_distributed_sampler=False,
            num_sanity_val_steps=0,
            callbacks=[*(timed(kind, times) for kind in LOOKS), baseline, clock],
        ).fit(Classifier(build(args.model)), data)

    later = {name: values[1:] for name, values in times.items() if len(values) == args.epochs}
    turns = [sum(turn) for turn in zip(*later.values(), strict=True)]
    alone = [a + b for a, b in zip(baseline.tsne[1:], baseline.forward[1:], strict=True)]
    ratio = statistics.median(a / b for a, b in zip(turns, alone, strict=True))
    name = f"{args.model}: epoch-end callbacks together, against t-SNE and forward passes"
    print_table([Row(name, statistics.median(turns), statistics.median(alone), ratio, 2.0)])

    epoch = clock.seconds / (args.steps - 1) * (FULL_EPOCH / data.batch_size)
    print(f"\n| {args.model} | seconds | share of an epoch of {FULL_EPOCH:,} images |")
    print("|---|---|---|")
    rows = {name: statistics.median(values) for name, values in later.items()}
    rows["together"] = statistics.median(turns)
    rows["as in the configs (embedding every 5 epochs)"] = (
        rows["together"] - 0.8 * rows["EmbeddingCallback"]
    )
    for row, value in rows.items():
        print(f"| {row} | {value:.2f} | {value / epoch:.1%} |")
    print(f"| training steps of the epoch | {epoch:.0f} | |")


if __name__ == "__main__":
    main()
