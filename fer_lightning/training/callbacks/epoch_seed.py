"""Every epoch's randomness as a pure function of (seed, epoch, rank)."""

import random

import lightning as L
import numpy as np
import torch


class EpochSeed(L.Callback):
    """Seeds Python, NumPy and torch anew at each epoch's start.

    A run that goes on from an epoch's end then draws the same dropout masks and augmentations as
    one that was never interrupted, and nothing of the generators' state has to be saved.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Seed before the first batch of the epoch is drawn."""
        seed_epoch(self.seed, trainer.current_epoch, trainer.global_rank)


def seed_epoch(seed: int, epoch: int, rank: int) -> None:
    """Seed all generators.

    >>> seed_epoch(1, epoch=2, rank=0); first = torch.rand(1)
    >>> seed_epoch(1, epoch=2, rank=0); bool(first == torch.rand(1))
    True
    """
    mixed = int(np.random.SeedSequence((seed, epoch, rank)).generate_state(1)[0])
    random.seed(mixed)
    np.random.seed(mixed)
    torch.manual_seed(mixed)
