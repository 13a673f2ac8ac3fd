"""What a model costs: parameters and arithmetic."""

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from fer_lightning.models.base import VisionModel


def count_parameters(model: nn.Module, trainable: bool = False) -> int:
    """Return the number of parameters, or of those that training changes.

    >>> count_parameters(nn.Linear(3, 2))
    8
    """
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trainable)


def count_flops(model: VisionModel, batch: int = 1, complete: bool = False) -> int:
    """Return the floating-point operations of a forward pass, two per multiply-add.

    Matrix products and convolutions count, attention's own included; norms, activations and
    additions do not. Only what is computed counts: `ViT` with [CLS] leaves the last layer's
    patches out. Papers that say FLOPs often mean multiply-adds: see `count_multiply_adds`.

    Args:
        model: built for images of `init_args`; on the meta device nothing is computed.
        batch: number of images.
        complete: count every token of every layer, as papers do, by what `attend` computes.

    >>> from fer_lightning.models import CNN
    >>> count_flops(CNN())
    147605248
    """
    args = model.init_args
    device = next(model.parameters()).device
    images = torch.zeros(
        batch, args["in_chans"], args["image_size"], args["image_size"], device=device
    )
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        with (
            torch.inference_mode(False),
            torch.enable_grad(),  # the counter cannot follow all modules without
            sdpa_kernel(SDPBackend.MATH),  # the fused kernels would count as nothing
            FlopCounterMode(display=False) as counter,
        ):
            model.attend(images.clone()) if complete else model.forward(images.clone())
    finally:
        for module, mode in modes:
            module.training = mode
    return counter.get_total_flops()


def count_multiply_adds(model: VisionModel, batch: int = 1, complete: bool = False) -> int:
    """Return the multiply-adds of a forward pass: half of `count_flops`."""
    return count_flops(model, batch, complete) // 2
