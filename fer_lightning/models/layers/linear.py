"""Linear layers over tokens, as 1x1 convolutions on processors where these are faster."""

from functools import cache
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

PROCESSOR = Path("/proc/cpuinfo")  # on Linux


class Linear(nn.Linear):
    """`torch.nn.Linear` with the same weights and names, by `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., out_features) of (..., in_features)."""
        return linear(x, self.weight, self.bias)


def quicken_linear(module: nn.Module) -> None:
    """Let every plain linear layer of a module work as `Linear`; nothing of its state changes."""
    for layer in module.modules():
        if type(layer) is nn.Linear:
            layer.__class__ = Linear


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Do as `torch.nn.functional.linear` does, to rounding.

    >>> x, w, b = torch.rand(2, 5, 3), torch.rand(4, 3), torch.rand(4)
    >>> torch.allclose(linear(x, w, b), F.linear(x, w, b))
    True
    """
    if read_along() or x.ndim not in (3, 4) or not _suits(x):
        return F.linear(x, weight, bias)
    return by_convolution(x, weight, bias)


def by_convolution(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Apply a linear map to tokens (B, N, C) or a grid of them (B, h, w, C) by a convolution.

    The tokens lie in memory as a picture in channels_last does: nothing is copied.
    """
    grid = x if x.ndim == 4 else x.unsqueeze(1)
    out = F.conv2d(grid.permute(0, 3, 1, 2), weight[:, :, None, None], bias)
    return out.permute(0, 2, 3, 1).reshape(*x.shape[:-1], -1)


def read_along() -> bool:
    """Whether somebody writes the operations down, and should see plain ones."""
    return torch.compiler.is_compiling() or torch.jit.is_tracing()


def _suits(x: Tensor) -> bool:
    if not x.is_cpu or x.dtype != torch.float32 or torch.is_autocast_enabled("cpu"):
        return False
    return x.is_contiguous() and x.numel() > 0 and convolutions_are_faster()


@cache
def convolutions_are_faster() -> bool:
    """Whether torch's convolutions use wider instructions than its matrix products.

    Products are Intel's MKL, which takes AVX2 on processors of AMD, also where they have AVX-512;
    convolutions are oneDNN, which takes what there is (`python -m benchmarks.run linear`).
    """
    if not torch.backends.mkldnn.is_available() or not torch.backends.mkl.is_available():
        return False
    return torch.backends.cpu.get_cpu_capability() == "AVX512" and _made_by() == "AuthenticAMD"


def _made_by() -> str:
    """Return the name of who made the processor, or an empty one."""
    try:
        with PROCESSOR.open(encoding="utf-8", errors="replace") as file:
            names = (line.partition(":")[2].strip() for line in file if "vendor_id" in line)
            return next(names, "")
    except OSError:
        return ""
