"""The vision transformer of the core experiment."""

from typing import Literal, cast

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.models.base import VisionModel
from fer_lightning.models.checks import check_rates, check_sizes
from fer_lightning.models.transformer import Block, PatchEmbed, init_linear, tokens_to_grid


class ViT(VisionModel):
    """Patches, learned positions, pre-norm layers and a linear head.

    The defaults are the paper's: 8x8 patches of 48x48 grey pixels, four layers of 128 channels.

    Args:
        num_classes: number of classes.
        in_chans: channels of the images, 1 for grey.
        image_size: height and width of the images in pixels, divisible by `patch_size`.
        patch_size: height and width of a patch in pixels.
        dim: width of a token, divisible by `heads`.
        depth: number of layers.
        heads: number of attention heads in each layer.
        mlp_ratio: hidden width of each MLP over `dim`.
        dropout: rate of Dropout on tokens, attention and residual branches.
        drop_path: rate at which the last layer's residual branches are dropped whole, rising
            linearly from 0 at the first layer.
        pool: the head reads the [CLS] token, or the mean of the patches (then there is no [CLS]).

    >>> ViT()(torch.zeros(2, 1, 48, 48)).shape
    torch.Size([2, 7])
    """

    def __init__(
        self,
        num_classes: int = 7,
        in_chans: int = 1,
        image_size: int = 48,
        patch_size: int = 6,
        dim: int = 128,
        depth: int = 4,
        heads: int = 4,
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        pool: Literal["cls", "mean"] = "cls",
    ) -> None:
        super().__init__()
        check_sizes(num_classes=num_classes, in_chans=in_chans, image_size=image_size)
        check_sizes(patch_size=patch_size, dim=dim, heads=heads)
        check_sizes(most=1000, depth=depth)
        check_sizes(mlp_width=int(dim * mlp_ratio))
        check_rates(dropout=dropout, drop_path=drop_path)
        if image_size % patch_size:
            raise UserError(
                f"expected image_size divisible by patch_size but got {image_size} and "
                f"{patch_size}; change either"
            )
        if dim % heads:
            raise UserError(
                f"expected dim divisible by heads but got {dim} and {heads}; change either"
            )
        if pool not in ("cls", "mean"):
            raise UserError(f"expected pool 'cls' or 'mean' but got {pool!r}")
        self.num_prefix_tokens = 1 if pool == "cls" else 0
        self.embed = PatchEmbed(image_size, patch_size, in_chans, dim)
        self.grid = self.embed.grid
        tokens = self.num_prefix_tokens + self.grid[0] * self.grid[1]
        self.register_parameter("cls_token", None)
        if pool == "cls":
            self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(nn.init.trunc_normal_(torch.empty(1, tokens, dim), std=0.02))
        self.drop = nn.Dropout(dropout)
        rates = [drop_path * i / max(depth - 1, 1) for i in range(depth)]
        self.blocks = nn.ModuleList(Block(dim, heads, mlp_ratio, dropout, r) for r in rates)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, num_classes)
        self.apply(init_linear)

    @property
    def layers(self) -> list[Block]:
        """The transformer layers in order."""
        return cast(list[Block], list(self.blocks))

    def tokens(self, x: Tensor) -> Tensor:
        """Return what the first layer reads, (B, N, dim): [CLS], then the patches row by row."""
        tokens = self.embed(x)
        if self.cls_token is not None:
            tokens = torch.cat([self.cls_token.expand(len(x), -1, -1), tokens], dim=1)
        return self.drop(tokens + self.pos_embed)

    def pool(self, tokens: Tensor) -> Tensor:
        """Return the vector that the head reads, (B, dim), of the last layer's tokens."""
        if self.cls_token is not None:
            return self.norm(tokens[:, 0])
        return self.norm(tokens).mean(1)

    def features(self, x: Tensor) -> Tensor:
        """Return the normalised [CLS] token, or the mean of the normalised patches, (B, dim)."""
        tokens = self.tokens(x)
        for block in self.layers[:-1]:
            tokens = block(tokens)
        # with [CLS] nothing reads the last layer's patches, so they are not computed
        return self.pool(self.layers[-1](tokens, first=self.num_prefix_tokens or None))

    def attend(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return logits and each layer's attention, (B, heads, N, N)."""
        tokens, maps = self.tokens(x), []
        for block in self.layers:
            tokens, weights = block.attend(tokens)
            maps.append(weights)
        return self.head(self.pool(tokens)), maps

    @property
    def cam_layer(self) -> nn.Module:
        """The deepest layer whose patches have a gradient.

        With [CLS] that is the last layer's first LayerNorm: what follows gives the patches none.
        """
        return self.norm if self.cls_token is None else self.layers[-1].norm1

    def to_grid(self, activation: Tensor) -> Tensor:
        """Return the patches of (B, N, C) as (B, C, h, w)."""
        return tokens_to_grid(activation, self.grid, self.num_prefix_tokens)

    @property
    def positions(self) -> Tensor:
        """The learned position of each patch, (h, w, dim)."""
        return self.pos_embed[0, self.num_prefix_tokens :].unflatten(0, self.grid)
