"""Attentive token pooling: layers of the second half pass only strong tokens on."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from fer_lightning.models.places import Canvas, spread_square, strongest, take, take_square
from fer_lightning.models.pooling import AttentivePooling, TokenCriterion
from fer_lightning.models.transformer import mix


class Attending(Protocol):
    """Attention whose queries, keys and values can be had, as those of `Attention`."""

    dropout: float
    training: bool

    def split(self, x: Tensor, first: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries (of the first tokens), keys and values, each (B, heads, n, d)."""

    def join(self, out: Tensor) -> Tensor:
        """Return (B, n, D) of the heads' outputs, (B, heads, n, d)."""


class Layer(Protocol):
    """A transformer layer that can be run in halves, as `Block` can."""

    @property
    def norm1(self) -> nn.Module:
        """What the attention reads its tokens through."""

    @property
    def attn(self) -> Attending:
        """The attention."""

    def __call__(self, x: Tensor, first: int | None = None) -> Tensor:
        """Run the whole layer."""

    def add(self, x: Tensor, out: Tensor) -> Tensor:
        """Add the attention's output to the tokens."""

    def think(self, x: Tensor) -> Tensor:
        """Run the second half."""


def token_scores(q: Tensor, k: Tensor, prefix: int, criterion: TokenCriterion) -> Tensor:
    """Return each patch token's strength, (B, n), by the product of its key with [CLS]'s query.

    Args:
        q: (B, heads, prefix + n, d), of which [CLS]'s, the first, is read.
        k: (B, heads, prefix + n, d).
        prefix: tokens before those of the patches.
        criterion: how heads are joined.

    >>> q, k = torch.ones(1, 2, 3, 1), torch.tensor([[0.0, -5, 1], [0, 2, 1]]).view(1, 2, 3, 1)
    >>> [token_scores(q, k, 1, criterion).tolist() for criterion in ("sum", "abs", "max")]
    [[[-3.0, 2.0]], [[7.0, 2.0]], [[2.0, 1.0]]]
    """
    logits = (k[:, :, prefix:] @ q[:, :, 0, :, None])[..., 0] * q.shape[-1] ** -0.5  # B, heads, n
    if criterion == "abs":
        logits = logits.abs()
    return logits.amax(1) if criterion == "max" else logits.sum(1)


class Pass:
    """One pass through the layers, in which tokens go; those that are left know their places.

    Args:
        pooling: what to drop.
        prefix: tokens, such as [CLS], before those of the patches.
        places: number of all tokens before anything was dropped.
        ids: (B, n) the places of the tokens that enter the first layer; None for all.
        canvas: where Grad-CAM reads: the layer `canvas_at` reads its normalised tokens through it.
        canvas_at: index of that layer.
        maps: takes the attention of each layer, (B, heads, places, places), if given.
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
            scores = token_scores(q, k, self.prefix, self.pooling.token_criterion)
            kept = with_prefix(strongest(scores, keep), self.prefix)
            x = take(x, kept)
            self.ids = kept if self.ids is None else self.ids.gather(1, kept)
            self.dropped[i] = self.ids
        return layer.think(x)

    def _see(self, weights: Tensor) -> Tensor:
        """Keep a layer's attention over all places, and return it as what the logits depend on."""
        assert self.maps is not None
        if self.ids is None:
            self.maps.append(weights)
            return weights
        self.maps.append(spread_square(weights, self.ids, self.places))
        return take_square(self.maps[-1], self.ids)


def with_prefix(kept: Tensor, prefix: int) -> Tensor:
    """Return the places of all tokens, (B, prefix + k), of the kept patches' indices, (B, k).

    >>> with_prefix(torch.tensor([[0, 3]]), prefix=1)
    tensor([[0, 1, 4]])
    """
    first = torch.arange(prefix, device=kept.device).expand(len(kept), -1)
    return torch.cat([first, kept + prefix], dim=1)
