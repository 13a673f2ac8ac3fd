"""Untrained twins: the same architecture that has never seen a face."""

import torch
from torch import nn

from fer_lightning.attribution.frozen import innermost
from fer_lightning.models.base import VisionModel
from fer_lightning.models.waking import wake_zeros

SEEDS = (0, 1, 2)


def untrained_twin(model: nn.Module, seed: int) -> VisionModel:
    """Make the same model anew, in eval mode on the same device; no weights are loaded.

    Parts that start at zero are woken, for they would hide what the others do. The global random
    state stays as it was.

    Args:
        model: a `VisionModel`, maybe compiled or wrapped for distributed training.
        seed: of the new weights.

    >>> from fer_lightning.models import CNN
    >>> model = CNN()
    >>> twin, again = untrained_twin(model, seed=1), untrained_twin(model, seed=1)
    >>> torch.equal(twin.head.weight, again.head.weight)
    True
    >>> torch.equal(twin.head.weight, model.head.weight)
    False
    """
    inner = innermost(model)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # weights are drawn on the CPU
        twin = type(inner)(**inner.rebuild_args())
        wake_zeros(twin)
    return twin.to(next(inner.parameters()).device).eval()
