"""Attentive pooling (Xue et al., 2022): which patches and tokens a transformer keeps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError, nearest
from fer_lightning.models.layers.checks import check_sizes
from fer_lightning.models.layers.transformer import mix

PatchCriterion = Literal["sum", "abs", "max", "lanet"]
TokenCriterion = Literal["sum", "abs", "max"]
PatchMode = Literal["hard", "soft"]


@dataclass(frozen=True)
class AttentivePooling:
    """How patches (before the first layer) and tokens (in the second half of the layers) go.

    The defaults drop nothing.

    Args:
        keep_patches: how many patches reach the first layer; None for all.
        keep_rate: the share of patch tokens that each layer of the second half passes on, rounded
            down; it may come to none, and [CLS] stays always.
        patch_criterion: what makes a patch strong: the sum, the sum of magnitudes or the largest
            of its channels, or a small network's opinion (``"lanet"``, which has weights).
        token_criterion: how the heads' products of [CLS]'s query and a token's key, before the
            softmax, become its strength.
        patch_mode: ``"hard"`` leaves weak patches out; ``"soft"`` multiplies each patch by its
            strength and keeps all, then `keep_patches` has no meaning and must be None.

    >>> AttentivePooling(keep_patches=160, keep_rate=0.9).patches_by_layer(196, depth=8)
    [160, 160, 160, 160, 160, 144, 129, 116, 104]
    """

    keep_patches: int | None = None
    keep_rate: float = 1.0
    patch_criterion: PatchCriterion = "abs"
    token_criterion: TokenCriterion = "sum"
    patch_mode: PatchMode = "hard"

    def check(self, patches: int, has_cls: bool) -> None:
        """Refuse what makes no sense for a model of so many patches."""
        words = {
            "patch_criterion": PatchCriterion,
            "token_criterion": TokenCriterion,
            "patch_mode": PatchMode,
        }
        for name, choices in words.items():
            word, known = getattr(self, name), get_args(choices)
            if word not in known:
                raise UserError(
                    f"expected a {name} but got {word!r:.40}; {nearest(str(word), known)}"
                )
        rate = self.keep_rate
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= 1:
            raise UserError(
                f"expected keep_rate above 0 and at most 1 but got {rate!r:.40}; 1 keeps all tokens"
            )
        if rate < 1 and not has_cls:
            raise UserError(
                f"expected a [CLS] token, which tells strong tokens, for keep_rate {rate:g} but "
                "got a model without; set pool to cls or keep_rate to 1"
            )
        if self.keep_patches is None:
            return
        check_sizes(keep_patches=self.keep_patches)
        if self.keep_patches > patches:
            raise UserError(
                f"expected keep_patches of at most {patches}, the number of patches, but got "
                f"{self.keep_patches}; lower it"
            )
        if self.patch_mode == "soft":
            raise UserError(
                f"expected no keep_patches with soft pooling, which keeps all, but got "
                f"{self.keep_patches}; choose patch_mode hard or leave keep_patches out"
            )

    def first_layer(self, depth: int) -> int:
        """Return the index of the first layer that drops tokens: the start of the second half."""
        return depth - depth // 2

    def tokens_after(self, tokens: int) -> int:
        """Return how many of so many patch tokens a layer passes on.

        >>> AttentivePooling(keep_rate=0.6).tokens_after(1)
        0
        >>> AttentivePooling(keep_rate=0.29).tokens_after(100)  # though 0.29 * 100 < 29 in floats
        29
        """
        return math.floor(self.keep_rate * tokens + 1e-9)

    def patches_by_layer(self, patches: int, depth: int) -> list[int]:
        """Return how many patch tokens enter each layer and, last, leave the last one."""
        counts = [patches if self.keep_patches is None else self.keep_patches]
        for layer in range(depth):
            dropping = layer >= self.first_layer(depth)
            counts.append(self.tokens_after(counts[-1]) if dropping else counts[-1])
        return counts

    def deepest_layer(self, patches: int, depth: int) -> int:
        """Return the index of the deepest layer that patches enter.

        >>> AttentivePooling(keep_rate=0.4).deepest_layer(3, depth=6)
        4
        """
        counts = self.patches_by_layer(patches, depth)[:-1]
        return max(layer for layer, count in enumerate(counts) if count)

    def part_way(self, share: float, patches: int) -> "AttentivePooling":
        """Return the pooling part of the way from keeping everything (0) to this one (1).

        >>> AttentivePooling(keep_patches=160, keep_rate=0.9).part_way(0.5, patches=196)
        AttentivePooling(keep_patches=178, keep_rate=0.95, ...)
        """
        k = self.keep_patches
        return replace(
            self,
            keep_patches=None if k is None else round(patches + share * (k - patches)),
            keep_rate=1 + share * (self.keep_rate - 1) if share < 1 else self.keep_rate,
        )


def _strongest(scores: Tensor, k: int) -> Tensor:
    """Return the indices of the k largest scores of each row, in ascending order, (B, k)."""
    return scores.topk(k, dim=1, sorted=False).indices.sort(dim=1).values


def take(tokens: Tensor, ids: Tensor) -> Tensor:
    """Return the tokens with these indices: (B, n, D) of (B, N, D) and (B, n)."""
    return tokens.gather(1, ids[..., None].expand(-1, -1, tokens.shape[-1]))


def _spread_square(weights: Tensor, ids: Tensor, places: int) -> Tensor:
    """Lay attention, (B, heads, n, n), out as (B, heads, places, places); other rows are zero."""
    B, H, n, _ = weights.shape
    wide = weights.new_zeros(B, H, n, places)
    wide = wide.scatter(3, ids[:, None, None].expand(-1, H, n, -1), weights)
    square = weights.new_zeros(B, H, places, places)
    return square.scatter(2, ids[:, None, :, None].expand(-1, H, -1, places), wide)


def _take_square(square: Tensor, ids: Tensor) -> Tensor:
    """Return the rows and columns of these tokens: the inverse of `_spread_square`."""
    _, H, N, _ = square.shape
    wide = square.gather(2, ids[:, None, :, None].expand(-1, H, -1, N))
    return wide.gather(3, ids[:, None, None].expand(-1, H, ids.shape[1], -1))


def left_mask(ids: Tensor, places: int, prefix: int, grid: tuple[int, int]) -> Tensor:
    """Return which patches are among the tokens at these places, (B, h, w) bools.

    >>> left_mask(torch.tensor([[0, 1, 4]]), places=5, prefix=1, grid=(2, 2)).int()
    tensor([[[1, 0],
             [0, 1]]], dtype=torch.int32)
    """
    mask = ids.new_zeros(ids.shape[0], places).scatter(1, ids, 1).bool()
    return mask[:, prefix:].unflatten(1, grid)


class Canvas(nn.Module):
    """Lays tokens out, as a layer, so that Grad-CAM can read all places at its output."""

    def forward(self, tokens: Tensor, ids: Tensor, places: int) -> Tensor:
        """Return (B, places, D) of tokens, (B, n, D), at the places ids, (B, n); others are 0."""
        canvas = tokens.new_zeros(tokens.shape[0], places, tokens.shape[-1])
        return canvas.scatter(1, ids[..., None].expand_as(tokens), tokens)


def _patch_scores(patches: Tensor, criterion: PatchCriterion) -> Tensor:
    """Return the strength of each patch, (B, N), from its channels, (B, N, D)."""
    if criterion == "abs":
        return patches.abs().sum(-1)
    return patches.sum(-1) if criterion == "sum" else patches.amax(-1)


class PatchPooling(nn.Module):
    """Choose the patches that reach the first layer.

    No weights, except with the criterion ``"lanet"``: two linear layers over a patch's channels
    give it one number, which multiplies the patch before the choice, because a choice alone passes
    no gradient to the network that made it.
    """

    def __init__(self, dim: int, criterion: PatchCriterion) -> None:
        super().__init__()
        if criterion == "lanet":  # as in the source without a sigmoid at the end: the order counts
            hidden = max(dim // 16, 1)
            self.lanet = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, patches: Tensor, pooling: AttentivePooling) -> tuple[Tensor, Tensor | None]:
        """Return the patches, maybe multiplied, and the indices to keep, (B, k); None for all.

        Soft pooling by a hand-made criterion divides strengths by the image's largest (our
        choice: the source leaves their scale open, and sums over channels would blow tokens up).
        """
        N, k = patches.shape[1], pooling.keep_patches
        keeps_all = k is None or k == N
        if pooling.patch_criterion == "lanet":
            scores = self.lanet(patches)[..., 0]
            patches = patches * scores[..., None]
        elif keeps_all and pooling.patch_mode == "hard":
            return patches, None
        else:
            scores = _patch_scores(patches, pooling.patch_criterion)
            if pooling.patch_mode == "soft":
                largest = scores.abs().amax(1, keepdim=True).clamp(min=1e-6)
                patches = patches * (scores / largest)[..., None]
        return patches, None if k is None or k == N else _strongest(scores, k)


class Layer(Protocol):
    """A transformer layer that can be run in halves, as `transformer.Block` can."""

    @property
    def norm1(self) -> nn.Module:
        """What the attention reads its tokens through."""

    @property
    def attn(self) -> Any:
        """Has `split`, `join`, `dropout` and `training`, as `transformer.Attention` has."""

    def __call__(self, x: Tensor, first: int | None = None) -> Tensor:
        """Run the whole layer."""

    def add(self, x: Tensor, out: Tensor) -> Tensor:
        """Add the attention's output to the tokens."""

    def mlp_residual(self, x: Tensor) -> Tensor:
        """Run the second half."""


def _token_scores(q: Tensor, k: Tensor, prefix: int, criterion: TokenCriterion) -> Tensor:
    """Return each patch token's strength, (B, n), by the product of its key with [CLS]'s query.

    Of the queries, (B, heads, prefix + n, d), the first is read: that of [CLS].
    """
    logits = (k[:, :, prefix:] @ q[:, :, 0, :, None])[..., 0] * q.shape[-1] ** -0.5  # B, heads, n
    if criterion == "abs":
        logits = logits.abs()
    return logits.amax(1) if criterion == "max" else logits.sum(1)


class Pass:
    """One pass through the layers, in which tokens go; those that are left know their places.

    Of `places` tokens those at `ids`, (B, n), enter the first layer, None for all; `prefix` of
    them, such as [CLS], stand before those of the patches. The layer `canvas_at` reads its
    normalised tokens through the canvas. `maps`, if given, takes the attention of each layer, (B,
    heads, places, places).
    """

    def __init__(
        self,
        pooling: AttentivePooling,
        prefix: int,
        places: int,
        ids: Tensor | None = None,
        canvas: Canvas | None = None,
        canvas_at: int = -1,
        maps: list[Tensor] | None = None,
    ) -> None:
        self.pooling, self.prefix, self.places, self.ids = pooling, prefix, places, ids
        self.canvas, self.canvas_at, self.maps = canvas, canvas_at, maps
        self.dropped: dict[int, Tensor] = {}  # by layer: the places of the tokens it passes on

    def through(self, layers: Sequence[Layer], tokens: Tensor, first: int | None) -> Tensor:
        """Return the last layer's tokens, (B, n, D), or only the `first` of them."""
        last = len(layers) - 1
        start = self.pooling.first_layer(len(layers))
        for i, layer in enumerate(layers):
            rows = first if i == last else None
            n = tokens.shape[1] - self.prefix
            # what leaves the last layer unread need not be chosen
            keep = self.pooling.tokens_after(n) if i >= start and rows is None else n
            reads = i == self.canvas_at and self.ids is not None
            if keep == n and not reads and self.maps is None:
                tokens = layer(tokens, rows)
            else:
                tokens = self._step(layer, i, tokens, rows, n, keep, reads)
        return tokens

    def _step(
        self, layer: Layer, i: int, x: Tensor, rows: int | None, n: int, keep: int, reads: bool
    ) -> Tensor:
        """Run a layer that drops tokens, or that is looked at."""
        normed = layer.norm1(x)
        if reads and self.canvas is not None and self.ids is not None:
            normed = take(self.canvas(normed, self.ids, self.places), self.ids)
        q, k, v = layer.attn.split(normed, rows)
        dropout = layer.attn.dropout if layer.attn.training else 0.0
        out = mix(q, k, v, dropout, self._see if self.maps is not None else None)
        x = layer.add(x[:, :rows], layer.attn.join(out))
        if keep < n:
            scores = _token_scores(q, k, self.prefix, self.pooling.token_criterion)
            kept = with_prefix(_strongest(scores, keep), self.prefix)
            x = take(x, kept)
            self.ids = kept if self.ids is None else self.ids.gather(1, kept)
            self.dropped[i] = self.ids
        return layer.mlp_residual(x)

    def _see(self, weights: Tensor) -> Tensor:
        """Keep a layer's attention over all places, and return it as what the logits depend on."""
        assert self.maps is not None
        if self.ids is None:
            self.maps.append(weights)
            return weights
        self.maps.append(_spread_square(weights, self.ids, self.places))
        return _take_square(self.maps[-1], self.ids)


def with_prefix(kept: Tensor, prefix: int) -> Tensor:
    """Return the places of all tokens, (B, prefix + k), of the kept patches' indices, (B, k)."""
    first = torch.arange(prefix, device=kept.device).expand(kept.shape[0], -1)
    return torch.cat([first, kept + prefix], dim=1)
