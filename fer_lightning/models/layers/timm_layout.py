"""How a timm backbone lays its features out, found by one forward pass and not by its name."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from fer_lightning.models.layers.transformer import tokens_to_grid


@dataclass(frozen=True)
class Layout:
    """Where a backbone keeps the places of the image."""

    kind: Literal["NCHW", "NHWC", "NLC"] | None  # axes of its features; None for other ones
    width: int  # length of the vector that the head reads
    grid: tuple[int, int] = (0, 0)  # rows and columns of places
    prefix: int = 0  # number of tokens before those of the patches
    cam_layer: str | None = None  # the deepest module whose output has a gradient at every place

    def to_grid(self, features: Tensor) -> Tensor:
        """Return features as (B, C, h, w)."""
        if self.kind == "NLC":
            return tokens_to_grid(features, self.grid, self.prefix)
        return features.permute(0, 3, 1, 2) if self.kind == "NHWC" else features


def find_layout(backbone: Any, image: Tensor) -> Layout:
    """Find the layout of a timm backbone without a classifier, in eval mode.

    Args:
        backbone: has timm's `forward_features` and `forward_head`.
        image: (1, C, H, W), as the backbone takes it.
    """
    with torch.no_grad(), _Recorder(backbone) as record:
        features = backbone.forward_features(image)
        width = backbone.forward_head(features, pre_logits=True).shape[-1]
    if not isinstance(features, Tensor) or features.ndim not in (3, 4):
        return Layout(None, width)
    deepest = next((n for n, out in reversed(record.outputs.items()) if out is features), None)
    if features.ndim == 4:
        nhwc = getattr(backbone, "output_fmt", "NCHW") == "NHWC"
        h, w = features.shape[1:3] if nhwc else features.shape[2:]
        return Layout("NHWC" if nhwc else "NCHW", width, (h, w), 0, deepest)
    prefix = getattr(backbone, "num_prefix_tokens", 0)
    grid = _token_grid(backbone, features.shape[1] - prefix)
    if grid is None:
        return Layout(None, width)
    if not _head_reads_patches(backbone, features, prefix):
        deepest = _deepest_before_last_attention(list(record.outputs))
        tokens = record.outputs.get(str(deepest))  # a [CLS] may join at the end only
        if not isinstance(tokens, Tensor) or tokens.shape[1] != features.shape[1]:
            deepest = None
    return Layout("NLC", width, grid, prefix, deepest)


class _Recorder:
    """Keep what each module of a backbone returns, by name, in the order of completion."""

    def __init__(self, backbone: Any) -> None:
        self.backbone = backbone
        self.outputs: dict[str, Any] = {}

    def _keep(self, name: str, _module: nn.Module, _args: Any, output: Any) -> None:
        self.outputs.pop(name, None)  # a module used twice counts where it was used last
        self.outputs[name] = output

    def __enter__(self) -> "_Recorder":
        self.handles = [
            module.register_forward_hook(partial(self._keep, name))
            for name, module in self.backbone.named_modules()
            if name
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self.handles:
            handle.remove()


def _token_grid(backbone: Any, patches: int) -> tuple[int, int] | None:
    """Return the rows and columns that so many patches form."""
    grid = getattr(getattr(backbone, "patch_embed", None), "grid_size", None)
    side = math.isqrt(patches)
    h, w = grid if grid is not None else (side, side)
    return (h, w) if h * w == patches else None


def _head_reads_patches(backbone: Any, features: Tensor, prefix: int) -> bool:
    """Tell mean pooling, where patches of the last layer get a gradient, from a [CLS] token."""
    if prefix == 0 or features.is_meta:
        return prefix == 0
    with torch.enable_grad():
        tokens = features.detach().requires_grad_()
        vector = backbone.forward_head(tokens.clone(), pre_logits=True)
        # unequal weights, because the plain sum over a LayerNorm's output has no gradient
        uneven = torch.linspace(-1, 2, vector.shape[-1], device=vector.device).square()
        loss = (vector * uneven).sum()
        (gradient,) = torch.autograd.grad(loss, tokens)
    return bool(gradient[:, prefix:].any())


def _deepest_before_last_attention(names: list[str]) -> str | None:
    """Choose the last block's first norm if it precedes the attention, else the block before."""
    blocks = [name for name in names if name.startswith("blocks.") and name.count(".") == 1]
    if not blocks:
        return None
    norm, attention = f"{blocks[-1]}.norm1", f"{blocks[-1]}.attn"
    if norm in names and attention in names and names.index(norm) < names.index(attention):
        return norm
    return blocks[-2] if len(blocks) > 1 else None


def layer_order(model: nn.Module) -> dict[str, int]:
    """Return the layer of each parameter, 0 for the first after the input; the head's is highest.

    A layer is a numbered block such as ``blocks.3``, or a module with weights outside of any block.
    Norms go with the layer before them, parameters of the model itself, such as positions, with the
    first after the stem. A timm backbone inside the model groups its own layers. Modules count in
    the order in which they were registered.

    >>> from fer_lightning.models import ViT
    >>> order = layer_order(ViT(depth=2))
    >>> {name: order[name] for name in ("pos_embed", "embed.proj.bias", "norm.bias", "head.bias")}
    {'pos_embed': 0, 'embed.proj.bias': 0, 'norm.bias': 2, 'head.bias': 3}
    """
    parameters = dict(model.named_parameters())
    module_of = {name: _layer_module(model, name) for name in parameters}
    rank = {module: i for i, module in enumerate(dict.fromkeys(module_of.values()))}
    inside = {module: _inside(model, module) for module in rank}
    place = {name: (rank[module], inside[module](name)) for name, module in module_of.items()}

    matrices = {place[name] for name, value in parameters.items() if value.ndim > 1}
    places = sorted(set(place.values()))
    joined = {one: one for one in places}
    for before, after in pairwise(places):
        if after not in matrices:  # only vectors: a norm
            joined[after] = joined[before]
    after_stem = [place[n] for n in parameters if "." in n and not n.startswith("stem.")]
    for name in parameters:
        if "." not in name and after_stem:  # of the model itself
            joined[place[name]] = joined[after_stem[0]]
    layers = {one: i for i, one in enumerate(sorted(set(joined.values())))}
    return {name: layers[joined[one]] for name, one in place.items()}


def _layer_module(model: nn.Module, name: str) -> str:
    """Return the name of the block, the backbone or the single module that holds a parameter."""
    path: list[str] = []
    module = model
    for step in name.split(".")[:-1]:
        module = module.get_submodule(step)
        path.append(step)
        if hasattr(module, "group_matcher") or (step.isdigit() and any(module.children())):
            break
    return ".".join(path)


def _inside(model: nn.Module, module: str) -> Callable[[str], int]:
    """Return how a timm backbone numbers its own layers by the full names of parameters."""
    backbone = model.get_submodule(module)
    if module == "" or not hasattr(backbone, "group_matcher"):
        return lambda name: 0
    from timm.models import group_parameters  # slow to import

    matcher = cast(Any, backbone).group_matcher(coarse=False)
    numbers = group_parameters(backbone, matcher, reverse=True)
    return lambda name: numbers[name.removeprefix(f"{module}.")]
