"""A training epoch through the Trainer against a bare PyTorch loop of the same model."""

import time

import torch
import torch.nn.functional as F

from benchmarks.harness import Clock, Row, compare, trainer
from fer_lightning.data.augment import to_float
from fer_lightning.data.batches import TrainBatches
from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.models import build
from fer_lightning.training.callbacks.epoch_seed import EpochSeed
from fer_lightning.training.callbacks.progress import Progress
from fer_lightning.training.module import Classifier

STEPS = 12
BATCH = 64


def bare_loop(net, data) -> float:
    """The loop anybody would write, on images that are already floats in memory."""
    net.train()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-4)
    part = data.parts["train"]
    images, labels = to_float(torch.from_numpy(part.images[part.rows])), part.label
    ends = []
    for places in list(TrainBatches(len(part), BATCH, 0))[:STEPS]:
        loss = F.cross_entropy(net(images[places]), labels[places])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ends.append(time.perf_counter())
    return ends[-1] - ends[0]


def measure() -> list[Row]:
    data = FERDataModule(source="drawn", drawn=Drawn(size=1050), batch_size=BATCH)
    data.setup("fit")
    rows = []
    for name in ("cnn", "vit"):
        net = build(name)
        module = Classifier(net)

        def ours(module=module):
            clock = Clock()
            trainer(STEPS, EpochSeed(0), Progress(), clock).fit(module, data)
            return clock.seconds

        def theirs(net=net):
            return bare_loop(net, data)

        rows.append(compare(f"{name}: {STEPS} steps through the Trainer", ours, theirs, 1.10, 5))
    return rows
