"""How far from the input each parameter lies, in layers."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

from torch import nn


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
