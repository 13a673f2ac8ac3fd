"""Weights of the same architecture for another image size or other channels."""

import math

from torch import Tensor, nn

from fer_lightning.models.base import VisionModel
from fer_lightning.models.transformer import PatchEmbed


def adapt(model: VisionModel, name: str, given: Tensor, wanted: Tensor) -> Tensor | None:
    """Return a weight in the shape that the model wants; None if there is no way.

    Positions are interpolated to the model's grid. The first layer takes the model's channels.

    Args:
        model: the model.
        name: of the weight.
        given: what the file holds.
        wanted: what the model holds under that name.

    >>> import torch
    >>> from fer_lightning.models import ViT
    >>> small, large = ViT(dim=8, depth=1), ViT(dim=8, depth=1, image_size=96)
    >>> adapt(large, "pos_embed", small.pos_embed, large.pos_embed).shape
    torch.Size([1, 257, 8])
    """
    if given.shape == wanted.shape:
        return given
    if name.split(".")[-1] == "pos_embed" and given.ndim == wanted.ndim == 3:
        for prefix in dict.fromkeys((model.num_prefix_tokens, 0)):  # some have none for [CLS]
            if (found := resize_positions(given, wanted, prefix)) is not None:
                return found
        return None
    if name != first_layer(model) or given.ndim != wanted.ndim or len(given) != len(wanted):
        return None
    if given.ndim == 4 and given.shape[2:] == wanted.shape[2:]:
        return change_channels(given, wanted.shape[1])
    if given.ndim == 2:
        patch: PatchEmbed = model.get_submodule(name.rpartition(".")[0].rpartition(".")[0])  # type: ignore[assignment]
        pixels = patch.patch_size**2
        if given.shape[1] % pixels == 0:
            as_convolution = given.unflatten(1, (-1, patch.patch_size, patch.patch_size))
            changed = change_channels(as_convolution, wanted.shape[1] // pixels)
            return None if changed is None else changed.flatten(1)
    return None


def first_layer(model: nn.Module) -> str | None:
    """Return the name of the weight that reads the images: a convolution's or a patch embedding's.

    >>> from fer_lightning.models import CNN
    >>> first_layer(CNN())
    'stages.conv1.weight'
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Conv2d):
            return f"{name}.weight"
        if isinstance(module, PatchEmbed):
            return f"{name}.proj.weight"
    return None


def change_channels(weight: Tensor, channels: int) -> Tensor | None:
    """Return the weight of a first convolution, (O, I, h, w), for images of other channels.

    The answer to a grey image stays the same, in however many channels it comes. From three
    channels to more, timm's way; from others to more there is none.

    >>> import torch
    >>> change_channels(torch.ones(1, 3, 1, 1), 1).flatten(), change_channels(
    ...     torch.ones(1, 1, 1, 1), 4
    ... ).flatten()
    (tensor([3.]), tensor([0.2500, 0.2500, 0.2500, 0.2500]))
    """
    if weight.shape[1] == 1:
        return weight.repeat(1, channels, 1, 1) / channels
    if channels == 1:
        return weight.sum(1, keepdim=True)
    if weight.shape[1] != 3:
        return None
    from timm.models import adapt_input_conv  # slow to import

    return adapt_input_conv(channels, weight)


def resize_positions(given: Tensor, wanted: Tensor, prefix: int) -> Tensor | None:
    """Interpolate positions on a square grid, (1, prefix + n, D), to another square grid.

    >>> import torch
    >>> flat = torch.ones(1, 5, 2)
    >>> bool(torch.allclose(resize_positions(flat, torch.empty(1, 10, 2), 1), torch.ones(1, 10, 2)))
    True
    """
    counts = [positions.shape[1] - prefix for positions in (given, wanted)]
    sides = [math.isqrt(max(count, 0)) for count in counts]
    if given.shape[::2] != wanted.shape[::2] or [s * s for s in sides] != counts or 0 in sides:
        return None
    from timm.layers import resample_abs_pos_embed  # slow to import

    return resample_abs_pos_embed(
        given, [sides[1]] * 2, old_size=[sides[0]] * 2, num_prefix_tokens=prefix
    )
