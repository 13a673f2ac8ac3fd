"""Optimizer by timm's name, and the learning rate over the steps of a run."""

import math
from typing import Any, Literal

from timm.optim import create_optimizer_v2, list_optimizers
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from fer_lightning.errors import UserError, nearest
from fer_lightning.models.layers.timm_layout import layer_order

Schedule = Literal["constant", "cosine"]


def make_optimizer(
    model: nn.Module,
    name: str = "adam",
    lr: float = 3e-4,
    weight_decay: float = 0.0,
    layer_decay: float = 1.0,
) -> Optimizer:
    """Create any optimizer timm knows, over the parameters that learn.

    Args:
        model: the model.
        name: timm's name of the optimizer.
        lr: learning rate of the head, and of everything without `layer_decay`.
        weight_decay: decay of weights; biases and norms are not decayed.
        layer_decay: each layer learns at this share of the rate of the layer above it.

    >>> make_optimizer(nn.Linear(2, 2), "adamw", lr=0.1).defaults["lr"]
    0.1
    """
    learns: Any = model
    if layer_decay != 1:
        learns = _layer_groups(model, lr, weight_decay, layer_decay)
    optimizer = create_optimizer_v2(learns, opt=name, lr=lr, weight_decay=weight_decay)
    if all(weight.is_cpu for weight in model.parameters()):
        # torch would look for a GPU before each step, 0.3 ms where there is none
        optimizer._accelerator_graph_capture_health_check = _nothing  # type: ignore[method-assign]
    return optimizer


def _nothing() -> None:
    """Stand for a check that has nothing to check."""


def _layer_groups(
    model: nn.Module, lr: float, weight_decay: float, layer_decay: float
) -> list[dict[str, Any]]:
    """Group the parameters that learn by layer, with the learning rate of each; first layer first.

    timm's own groups carry a scale that only timm's schedulers read, so these carry the rate.
    """
    layers = layer_order(model)
    top = max(layers.values())
    groups: dict[tuple[int, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            groups.setdefault((top - layers[name], parameter.ndim <= 1), []).append(parameter)
    order = sorted(groups, key=lambda group: (-group[0], group[1]))
    return [
        {
            "params": groups[below_top, vector],
            "lr": lr * layer_decay**below_top,
            "weight_decay": 0.0 if vector else weight_decay,
        }
        for below_top, vector in order
    ]


def check_optimizer(name: str, lr: float) -> None:
    """Refuse an unknown optimizer and a learning rate that is not positive."""
    known = [str(name) for name in list_optimizers()]
    if name not in known:
        raise UserError(
            f"expected the name of an optimizer but got '{name}'; {nearest(name, known)}"
        )
    if not lr > 0:
        raise UserError(f"expected a learning rate above 0 but got {lr}")


def lr_factor(step: int, schedule: Schedule, warmup: int, total: int) -> float:
    """Return the share of the full learning rate at a step.

    It rises linearly over the first `warmup` steps, then stays, or falls to 0 along a cosine.

    >>> [round(lr_factor(s, "cosine", warmup=2, total=10), 2) for s in (0, 1, 2, 6, 10)]
    [0.5, 1.0, 1.0, 0.5, 0.0]
    >>> lr_factor(7, "constant", warmup=0, total=10)
    1.0
    """
    if step < warmup:
        return (step + 1) / warmup
    if schedule == "constant":
        return 1.0
    done = min((step - warmup) / max(total - warmup, 1), 1.0)
    return 0.5 * (1 + math.cos(math.pi * done))


def make_schedule(optimizer: Optimizer, schedule: Schedule, warmup: int, total: int) -> LambdaLR:
    """Attach `lr_factor` to an optimizer, to be stepped after every training step."""
    return LambdaLR(optimizer, lambda step: lr_factor(step, schedule, warmup, total))
