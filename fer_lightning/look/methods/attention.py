"""What a transformer's tokens attend to, laid out over the image."""

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fer_lightning.errors import UserError
from fer_lightning.look.frozen import (
    check_images,
    check_target,
    choose,
    frozen_eval,
    innermost,
    plain,
    split_target,
)
from fer_lightning.look.methods.registry import method
from fer_lightning.models.base import NoAttentionError, VisionModel

__all__ = ["NoAttentionError", "attention_relevance", "attention_rollout", "cls_attention"]


def cls_attention(
    model: nn.Module, images: Tensor, layer: int = -1, batch_size: int = 32
) -> Tensor:
    """Show to which patches [CLS] attends in one layer, head by head.

    Args:
        model: a `VisionModel` with attention.
        images: (N, C, H, W) floats in [0, 1] on the model's device.
        layer: index of the layer, from the end if negative.
        batch_size: images in one forward pass; each keeps the attention of all layers.

    Returns:
        (N, heads, h, w): the row of [CLS], the first token, over the patches. The rest up to 1
        goes to [CLS] itself. For a model without such tokens, the mean over all patches' rows.
        Patches that the model dropped before are zero.

    Raises:
        NoAttentionError: the model has no attention over the whole image.
        UserError: it has no such layer.

    >>> from fer_lightning.models import ViT
    >>> cls_attention(ViT(), torch.rand(2, 1, 48, 48)).shape
    torch.Size([2, 4, 8, 8])
    """
    check_images(images)
    found = []
    with frozen_eval(model) as inner, torch.no_grad():
        for part in images.split(batch_size):
            maps = inner.attention_maps(plain(part))
            if not -len(maps) <= layer < len(maps):
                raise UserError(
                    f"expected a layer from {-len(maps)} to {len(maps) - 1} but got {layer}; "
                    f"the model has {len(maps)} layers with attention"
                )
            start = _start(inner, maps[layer])  # B, 1, N
            found.append(_to_grid(inner, start[:, None] @ maps[layer]))
    return torch.cat(found)


def attention_rollout(
    model: nn.Module,
    images: Tensor,
    residual: float = 0.5,
    fusion: Literal["mean", "max", "min"] = "mean",
    batch_size: int = 32,
) -> Tensor:
    """Follow attention through all layers (Abnar and Zuidema, 2020).

    Each layer's heads are fused, mixed with the identity for the residual connection and scaled to
    rows that sum to 1; the layers are then multiplied. No class enters: it is the same map for
    each.

    Args:
        model: a `VisionModel` with attention.
        images: (N, C, H, W) floats in [0, 1] on the model's device.
        residual: the identity's share, from 0 to 1.
        fusion: how the heads of a layer become one.
        batch_size: images in one forward pass.

    Returns:
        (N, h, w): the row of [CLS], or the mean over all rows for a model without such tokens.

    Raises:
        NoAttentionError: the model has no attention over the whole image.

    >>> from fer_lightning.models import ViT
    >>> attention_rollout(ViT(), torch.rand(2, 1, 48, 48)).shape
    torch.Size([2, 8, 8])
    """
    check_images(images)
    if not 0 <= residual <= 1 or fusion not in ("mean", "max", "min"):
        raise UserError(
            f"expected residual from 0 to 1 and fusion 'mean', 'max' or 'min' but got {residual} "
            f"and '{fusion}'"
        )
    found = []
    with frozen_eval(model) as inner, torch.no_grad():
        for part in images.split(batch_size):
            maps = inner.attention_maps(plain(part))
            row = _start(inner, maps[-1])
            for attention in _downwards(maps):
                fused = (
                    attention.mean(1) if fusion == "mean" else getattr(attention, f"a{fusion}")(1)
                )
                mixed = (1 - residual) * fused
                mixed.diagonal(dim1=1, dim2=2).add_(residual)
                # rows of dropped tokens may be zero; no row that is read leads to them
                row = row @ (mixed / mixed.sum(-1, keepdim=True).clamp(min=1e-12))
            found.append(_to_grid(inner, row[:, None])[:, 0])
    return torch.cat(found)


def attention_relevance(
    model: nn.Module,
    images: Tensor,
    target: int | Tensor | None = None,
    batch_size: int = 32,
) -> Tensor:
    """Follow the attention that speaks for a class (the rule of Chefer, Gur and Wolf, 2021).

    A layer's attention counts where it is multiplied by a positive gradient of the class's logit;
    the mean over heads of that, added to the identity, takes the place of rollout's layers.

    Args:
        model: a `VisionModel` with attention.
        images: (N, C, H, W) floats in [0, 1] on the model's device.
        target: the class to explain: None for the predicted one, an int for all images, or (N,).
        batch_size: images in one pass.

    Returns:
        (N, h, w), not negative: the row of [CLS], or the mean over all rows for a model without
        such tokens (there a patch's own identity, the same for all, is left out).

    Raises:
        NoAttentionError: the model has no attention over the whole image.

    >>> from fer_lightning.models import ViT
    >>> attention_relevance(ViT(), torch.rand(2, 1, 48, 48), target=3).shape
    torch.Size([2, 8, 8])
    """
    check_images(images)
    check_target(target, len(images))
    found = []
    with frozen_eval(model) as inner:
        for part, wanted in zip(
            images.split(batch_size), split_target(target, len(images), batch_size), strict=True
        ):
            # maps are part of a graph only if something before them asks for a gradient
            logits, maps = inner.attend(plain(part).clone().requires_grad_())
            score = logits.gather(1, choose(logits, wanted)[:, None]).sum()
            slopes = torch.autograd.grad(score, maps)
            with torch.no_grad():
                start = row = _start(inner, maps[-1])
                weighed = [
                    (a * g).relu().mean(1)[:, None] for a, g in zip(maps, slopes, strict=True)
                ]
                for layer in _downwards(weighed):
                    row = row + row @ layer[:, 0]
                found.append(_to_grid(inner, (row - start)[:, None])[:, 0])
    return torch.cat(found)


def _start(model: VisionModel, attention: Tensor) -> Tensor:
    """Return the weights of the rows to read, (B, 1, N): [CLS] only, or all that are left alike."""
    B, N = attention.shape[0], attention.shape[-1]
    if model.num_prefix_tokens:
        start = attention.new_zeros(B, 1, N)
        start[..., 0] = 1
        return start
    left = attention.detach().any(-1).any(1)[:, None].to(attention.dtype)  # B, 1, N
    return left / left.sum(-1, keepdim=True)


def _downwards(maps: list[Tensor]) -> Iterator[Tensor]:
    """Give the layers, (B, heads, N, N), from the last to the first."""
    if any(attention.shape[2:] != maps[0].shape[2:] for attention in maps):
        raise NoAttentionError(
            "expected layers that attend over the same tokens but got "
            f"{[attention.shape[-1] for attention in maps]} tokens; use cls_attention or Grad-CAM"
        )
    return reversed(maps)


def _to_grid(model: VisionModel, rows: Tensor) -> Tensor:
    """Lay rows over all tokens, (B, heads, 1, N), out as (B, heads, h, w)."""
    return model.to_grid(rows[:, :, 0].transpose(1, 2))


# --- Which places of the image a transformer's learned positions take to be alike


def position_similarity(model: nn.Module) -> Tensor:
    """Compare the learned position of every patch with that of every other.

    Args:
        model: a `VisionModel` that learns absolute positions.

    Returns:
        (h, w, h, w) cosine similarities, float32 from -1 to 1: [i, j] is the map of patch (i, j).

    Raises:
        NoAttentionError: the model learns no absolute positions.

    >>> from fer_lightning.models import ViT
    >>> similarity = position_similarity(ViT())
    >>> similarity.shape, round(similarity[2, 3, 2, 3].item(), 5)
    (torch.Size([8, 8, 8, 8]), 1.0)
    """
    positions = innermost(model).positions.detach().float()
    h, w, _ = positions.shape
    unit = F.normalize(positions.flatten(0, 1), dim=1)
    return (unit @ unit.T).clamp(-1, 1).view(h, w, h, w)


def centre(similarity: Tensor) -> Tensor:
    """Return the map of the centre patch, (h, w); with even sides, the one right below the middle.

    That is patch 36 of 8x8. "Patches vs Pixels" calls patch 32 the centre, which is the first of
    its row.

    >>> import torch
    >>> centre(torch.arange(4096.0).view(8, 8, 8, 8))[0, 0].item() / 64
    36.0
    """
    h, w = similarity.shape[:2]
    return similarity[h // 2, w // 2]


@method(
    "attention_rollout",
    title="Attention rollout",
    about="attention at the model's own grid; it knows no class",
    knows_class=False,
    needs_attention=True,
)
def rollout_maps(
    model: nn.Module, images: Tensor, target: int | Tensor | None, batch_size: int
) -> Tensor:
    """Attention rollout over all layers."""
    return attention_rollout(model, images, batch_size=batch_size)


@method(
    "attention_relevance",
    title="Attention relevance",
    about="attention that speaks for the target class, at the model's own grid",
    needs_attention=True,
    passes=2,
)
def relevance_maps(
    model: nn.Module, images: Tensor, target: int | Tensor | None, batch_size: int
) -> Tensor:
    """Attention weighted by its gradient."""
    return attention_relevance(model, images, target, batch_size)
