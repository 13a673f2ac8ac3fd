"""APViT as its authors built it, for aligned faces of 112x112 pixels."""

from collections.abc import Sequence
from typing import Literal

from torch import nn

from fer_lightning.errors import UserError
from fer_lightning.models.checks import check_sizes
from fer_lightning.models.ir50 import STRIDE, WIDTHS, IR50Stem
from fer_lightning.models.patch_transformer import PatchTransformer, check_transformer
from fer_lightning.models.pooling import (
    AttentivePooling,
    PatchCriterion,
    PatchMode,
    TokenCriterion,
)
from fer_lightning.models.stems import FeatureEmbed, check_stem


class APViT112(PatchTransformer):
    """IR-50 up to 14x14 places, then eight layers of which the last four drop tokens.

    65,209,543 parameters for seven classes, as the authors' code has. Multiply-adds of all tokens
    of all layers, norms and PReLU of the stem included: 12.661 G, against 15.293 G with nothing
    dropped; `forward` leaves out what nothing reads in the last layer. The head starts at zero.

    Args:
        num_classes: number of classes.
        in_chans: channels of the images, 3 for colour.
        image_size: height and width of the images in pixels, divisible by 8.
        keep_patches: how many of the places reach the first layer; None for all.
        keep_rate: share of patch tokens that each layer of the second half passes on.
        patch_criterion: what makes a patch strong; ``"lanet"`` adds weights.
        token_criterion: how the heads' products of [CLS]'s query and a key make a token strong.
        patch_mode: leave weak patches out, or multiply all by their strength.
        units: units in each of the stem's three stages.
        dim: width of a token, divisible by `heads`.
        depth: number of layers.
        heads: number of attention heads in each layer.
        mlp_ratio: hidden width of each MLP over `dim`.
        dropout: rate of Dropout on tokens, attention and residual branches.
        drop_path: rate at which the last layer's residual branches are dropped whole, rising
            linearly from 0 at the first layer.
        pool: the head reads the [CLS] token, or the mean of the patches (then there is no [CLS],
            and `keep_rate` must be 1).

    >>> small = APViT112(image_size=32, keep_patches=9, units=(1, 1, 1), dim=32, depth=2)
    >>> small.grid, small.parts["stem"]
    ((4, 4), ('stem.',))
    """

    def __init__(
        self,
        num_classes: int = 7,
        in_chans: int = 3,
        image_size: int = 112,
        keep_patches: int | None = 160,
        keep_rate: float = 0.9,
        patch_criterion: PatchCriterion = "abs",
        token_criterion: TokenCriterion = "sum",
        patch_mode: PatchMode = "hard",
        units: Sequence[int] = (3, 4, 14),
        dim: int = 768,
        depth: int = 8,
        heads: int = 8,
        mlp_ratio: float = 3.0,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        pool: Literal["cls", "mean"] = "cls",
    ) -> None:
        check_sizes(num_classes=num_classes, in_chans=in_chans)
        if len(units) != len(WIDTHS):
            raise UserError(f"expected units of {len(WIDTHS)} stages but got {units}")
        for count in units:
            check_sizes(most=1000, units=count)
        check_transformer(dim, depth, heads, mlp_ratio, dropout, drop_path, pool)
        side = check_stem(image_size, STRIDE)
        super().__init__(
            IR50Stem(in_chans, units),
            FeatureEmbed(WIDTHS[-1], dim),
            (side, side),
            num_classes=num_classes,
            dim=dim,
            depth=depth,
            heads=heads,
            mlp_ratio=mlp_ratio,
            dropout=dropout,
            drop_path=drop_path,
            pool=pool,
            pooling=AttentivePooling(
                keep_patches, keep_rate, patch_criterion, token_criterion, patch_mode
            ),
            qkv_bias=False,
            norm_eps=1e-6,
        )
        for parameter in self.head.parameters():
            nn.init.zeros_(parameter)
