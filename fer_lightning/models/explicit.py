"""The attention of timm's transformers, which their fused kernel never shows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn


@contextmanager
def explicit_attention(backbone: nn.Module, tokens: int) -> Iterator[list[Tensor]]:
    """Make timm's attention step by step inside the block and collect it, layer by layer.

    timm's attention modules carry both ways of computing and a switch, `fused_attn`. Step by step,
    the softmax's output, after any norm of queries and keys and any rotation, goes to `attn_drop`.

    Args:
        backbone: any module that may hold such attention.
        tokens: how many tokens all layers must attend over; other attention is left out.

    Yields:
        A list that fills with (B, heads, tokens, tokens) while the backbone runs.
    """
    maps: list[Tensor] = []

    def keep(_module: nn.Module, args: tuple[Any, ...]) -> None:
        if args[0].shape[-2:] == (tokens, tokens):
            maps.append(args[0])

    modules: list[Any] = [
        module
        for module in backbone.modules()
        if hasattr(module, "fused_attn")
        and isinstance(getattr(module, "attn_drop", None), nn.Module)
    ]
    fused = [module.fused_attn for module in modules]
    handles = []
    try:
        for module in modules:
            module.fused_attn = False
            handles.append(module.attn_drop.register_forward_pre_hook(keep))
        yield maps
    finally:
        for handle in handles:
            handle.remove()
        for module, before in zip(modules, fused, strict=True):
            module.fused_attn = before
