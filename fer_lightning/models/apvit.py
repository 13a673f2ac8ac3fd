"""APViT for small faces: a convolution stem, and a transformer that keeps strong patches only."""

from collections.abc import Sequence
from typing import Literal

from fer_lightning.models.checks import check_sizes
from fer_lightning.models.patch_transformer import PatchTransformer, check_transformer
from fer_lightning.models.pooling import (
    AttentivePooling,
    PatchCriterion,
    PatchMode,
    TokenCriterion,
)
from fer_lightning.models.stems import ConvStem, FeatureEmbed, check_stem, check_widths

KERNELS, STRIDES = (3, 3, 3), (2, 2, 1)  # 48x48 pixels to 24x24 to 12x12 places


class APViT(PatchTransformer):
    """The idea of APViT (Xue et al., 2022) at 48x48 pixels, for training on a CPU.

    Its sizes are ours: a stem to 12x12 places, of which 80 reach six layers of 96 channels; the
    last three drop a fifth of the tokens each. `APViT112` has the source's own sizes.

    Args:
        num_classes: number of classes.
        in_chans: channels of the images, 1 for grey.
        image_size: height and width of the images in pixels, divisible by 4.
        keep_patches: how many of the places reach the first layer; None for all.
        keep_rate: share of patch tokens that each layer of the second half passes on.
        patch_criterion: what makes a patch strong; ``"lanet"`` adds weights.
        token_criterion: how the heads' products of [CLS]'s query and a key make a token strong.
        patch_mode: leave weak patches out, or multiply all by their strength.
        widths: channels of the stem's three convolutions.
        dim: width of a token, divisible by `heads`.
        depth: number of layers.
        heads: number of attention heads in each layer.
        mlp_ratio: hidden width of each MLP over `dim`.
        dropout: rate of Dropout on tokens, attention and residual branches.
        drop_path: rate at which the last layer's residual branches are dropped whole, rising
            linearly from 0 at the first layer.
        pool: the head reads the [CLS] token, or the mean of the patches (then there is no [CLS],
            and `keep_rate` must be 1).

    >>> import torch
    >>> APViT()(torch.zeros(2, 1, 48, 48)).shape
    torch.Size([2, 7])
    """

    def __init__(
        self,
        num_classes: int = 7,
        in_chans: int = 1,
        image_size: int = 48,
        keep_patches: int | None = 80,
        keep_rate: float = 0.8,
        patch_criterion: PatchCriterion = "abs",
        token_criterion: TokenCriterion = "sum",
        patch_mode: PatchMode = "hard",
        widths: Sequence[int] = (32, 64, 64),
        dim: int = 96,
        depth: int = 6,
        heads: int = 4,
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        pool: Literal["cls", "mean"] = "cls",
    ) -> None:
        check_sizes(num_classes=num_classes, in_chans=in_chans)
        check_widths(widths, len(KERNELS))
        check_transformer(dim, depth, heads, mlp_ratio, dropout, drop_path, pool)
        side = check_stem(image_size, 4)
        super().__init__(
            ConvStem(in_chans, widths, KERNELS, STRIDES),
            FeatureEmbed(widths[-1], dim),
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
        )
