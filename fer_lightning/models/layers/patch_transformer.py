"""What all transformers of ours over patches share, whatever makes their patches."""

from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.models.base import VisionModel
from fer_lightning.models.layers.checks import check_rates, check_sizes
from fer_lightning.models.layers.pooling import (
    AttentivePooling,
    Canvas,
    Pass,
    PatchPooling,
    left_mask,
    take,
    with_prefix,
)
from fer_lightning.models.layers.transformer import Block, init_linear, tokens_to_grid


class Sizes(NamedTuple):
    """Sizes of a transformer, in the order and with the meaning of `ViT`'s arguments."""

    dim: int
    depth: int
    heads: int
    mlp_ratio: float
    dropout: float
    drop_path: float
    pool: Literal["cls", "mean"]

    def check(self) -> "Sizes":
        """Refuse sizes that do not fit each other, before anything is built."""
        check_sizes(dim=self.dim, heads=self.heads)
        check_sizes(most=1000, depth=self.depth)
        check_sizes(mlp_width=int(self.dim * self.mlp_ratio))
        check_rates(dropout=self.dropout, drop_path=self.drop_path)
        if self.dim % self.heads:
            raise UserError(
                f"expected dim divisible by heads but got {self.dim} and {self.heads}; "
                "change either"
            )
        if self.pool not in ("cls", "mean"):
            raise UserError(f"expected pool 'cls' or 'mean' but got {self.pool!r}")
        return self


class PatchTransformer(VisionModel):
    """Patches, learned positions, pre-norm layers and a linear head.

    `pooling` may change during training: it is no weight.

    `stem` leads from images to what `embed` takes (an empty one for images themselves), and `embed`
    to patches row by row, (B, h·w, dim); `grid` is h and w.
    Arguments that its models share are described here, once for the help of the command line.

    Args:
        num_classes: number of classes.
        dim: width of a token, divisible by `heads`.
        depth: number of layers.
        heads: number of attention heads in each layer.
        mlp_ratio: hidden width of each MLP over `dim`.
        dropout: rate of Dropout on tokens, attention and residual branches.
        drop_path: rate at which the last layer's residual branches are dropped whole, rising
            linearly from 0 at the first layer.
        pool: the head reads the [CLS] token, or the mean of the patches (then there is no [CLS]).
        keep_patches: how many of the patches reach the first layer; None for all.
        keep_rate: share of patch tokens that each layer of the second half passes on.
        patch_criterion: what makes a patch strong; ``"lanet"`` adds weights.
        token_criterion: how the heads' products of [CLS]'s query and a key make a token strong.
        patch_mode: leave weak patches out, or multiply all by their strength.
    """

    pooling: AttentivePooling

    def __init__(
        self,
        stem: nn.Module,
        embed: nn.Module,
        grid: tuple[int, int],
        num_classes: int,
        sizes: Sizes,
        pooling: AttentivePooling,
        qkv_bias: bool = True,
        norm_eps: float = 1e-5,
    ) -> None:
        super().__init__()
        dim, depth, heads, mlp_ratio, dropout, drop_path, pool = sizes
        self.num_prefix_tokens = 1 if pool == "cls" else 0
        pooling.check(grid[0] * grid[1], has_cls=pool == "cls")
        self.pooling = pooling
        self.grid = grid
        self.stem = stem
        self.embed = embed
        self.patch_pool = PatchPooling(dim, pooling.patch_criterion)
        self.places = self.num_prefix_tokens + grid[0] * grid[1]  # of tokens, none dropped
        self.register_parameter("cls_token", None)
        if pool == "cls":
            self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(
            nn.init.trunc_normal_(torch.empty(1, self.places, dim), std=0.02)
        )
        self.drop = nn.Dropout(dropout)
        rates = [drop_path * i / max(depth - 1, 1) for i in range(depth)]
        self.blocks = nn.ModuleList(
            Block(dim, heads, mlp_ratio, dropout, rate, qkv_bias, norm_eps) for rate in rates
        )
        self.canvas = Canvas()
        self.norm = nn.LayerNorm(dim, eps=norm_eps)
        self.head = nn.Linear(dim, num_classes)
        self.apply(init_linear)

    @property
    def layers(self) -> list[Block]:
        """The transformer layers in order."""
        return cast(list[Block], list(self.blocks))

    def tokens(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return what the first layer reads, (B, n, dim): [CLS], then the patches row by row.

        Also their places, (B, n), or None when all are there.
        """
        patches, kept = self.patch_pool(self.embed(self.stem(self.scaled(x))), self.pooling)
        prefix = self.num_prefix_tokens
        tokens = patches + self.pos_embed[:, prefix:]
        ids = None
        if kept is not None:
            tokens, ids = take(tokens, kept), with_prefix(kept, prefix)
        if self.cls_token is not None:
            cls = self.cls_token + self.pos_embed[:, :prefix]
            tokens = torch.cat([cls.expand(x.shape[0], -1, -1), tokens], dim=1)
        return self.drop(tokens), ids

    def pool(self, tokens: Tensor, ids: Tensor | None) -> Tensor:
        """Return the vector that the head reads, (B, dim), of the last layer's tokens."""
        if self.cls_token is not None:
            return self.norm(tokens[:, 0])
        if ids is None:
            return self.norm(tokens).mean(1)
        return take(self.canvas(self.norm(tokens), ids, self.places), ids).mean(1)

    def start(self, ids: Tensor | None, maps: list[Tensor] | None = None) -> Pass:
        """Return a pass through the layers of tokens at these places."""
        prefix, places = self.num_prefix_tokens, self.places
        return Pass(self.pooling, prefix, places, ids, self.canvas, self._cam_index, maps)

    def features(self, x: Tensor) -> Tensor:
        """Return the normalised [CLS] token, or the mean of the normalised patches, (B, dim)."""
        tokens, ids = self.tokens(x)
        layers = self.start(ids)
        # with [CLS] nothing reads the last layer's patches, so they are not computed
        tokens = layers.through(self.layers, tokens, first=self.num_prefix_tokens or None)
        return self.pool(tokens, layers.ids)

    def attend(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return logits and each layer's attention, (B, heads, N, N), over all places."""
        (tokens, ids), maps = self.tokens(x), list[Tensor]()
        layers = self.start(ids, maps)
        tokens = layers.through(self.layers, tokens, first=None)
        return self.head(self.pool(tokens, layers.ids)), maps

    @torch.no_grad()
    def kept_masks(self, x: Tensor) -> dict[str, Tensor]:
        """Return which patches are left, (B, h, w) bools, after each stage that drops some."""
        tokens, ids = self.tokens(x)
        stages = {} if ids is None else {"patch pooling": ids}
        layers = self.start(ids)
        layers.through(self.layers, tokens, first=None)
        stages |= {f"layer {i + 1}": left for i, left in layers.dropped.items()}
        return {
            stage: left_mask(left, self.places, self.num_prefix_tokens, self.grid)
            for stage, left in stages.items()
        }

    @property
    def _cam_index(self) -> int:
        """The deepest layer with patches: with [CLS], of those that they enter."""
        depth = len(self.blocks)
        if self.cls_token is None:
            return depth
        return self.pooling.deepest_layer(self.grid[0] * self.grid[1], depth)

    @property
    def cam_layer(self) -> nn.Module:
        """The deepest layer whose patches have a gradient.

        With [CLS] that is the first LayerNorm of the last layer that patches enter: what follows
        gives them none. Where patches were dropped before, it is the canvas after that norm.
        """
        index, patches = self._cam_index, self.grid[0] * self.grid[1]
        if self.pooling.patches_by_layer(patches, len(self.blocks))[index] < patches:
            return self.canvas
        return self.norm if self.cls_token is None else self.layers[index].norm1

    def to_grid(self, activation: Tensor) -> Tensor:
        """Return the patches of (B, N, C) as (B, C, h, w)."""
        return tokens_to_grid(activation, self.grid, self.num_prefix_tokens)

    @property
    def positions(self) -> Tensor:
        """The learned position of each patch, (h, w, dim)."""
        return self.pos_embed[0, self.num_prefix_tokens :].unflatten(0, self.grid)
