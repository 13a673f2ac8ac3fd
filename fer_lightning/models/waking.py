"""Untrained models whose every part takes part."""

import torch
from torch import nn


@torch.no_grad()
def wake_zeros(model: nn.Module, generator: torch.Generator | None = None) -> int:
    """Give weights that start at zero a usual start, and return how many tensors that were.

    Some backbones begin with a zero head, or with a zero scale at the end of each residual branch:
    untrained, they ignore most of their own weights, which makes them no fair untrained twins.

    Args:
        model: changed in place. Scales of norms become 1; matrices are drawn from a normal
            distribution of standard deviation 0.02. Biases may stay zero.
        generator: draws the matrices.

    >>> layer = nn.Linear(3, 2)
    >>> _ = nn.init.zeros_(layer.weight)
    >>> wake_zeros(layer), bool(layer.weight.any()), wake_zeros(layer)
    (1, True, 0)
    """
    woken = 0
    for module in model.modules():
        weight = getattr(module, "weight", None)
        if not isinstance(weight, nn.Parameter) or weight.is_meta or weight.any():
            continue
        if weight.ndim == 1:
            weight.fill_(1.0)
        else:
            weight.normal_(std=0.02, generator=generator)
        woken += 1
    return woken
