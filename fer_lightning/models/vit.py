"""The vision transformers of the core experiment and of "Patches vs Pixels"."""

from typing import Literal

from torch import nn

from fer_lightning.errors import UserError
from fer_lightning.models.layers.checks import check_sizes
from fer_lightning.models.layers.patch_transformer import PatchTransformer, Sizes
from fer_lightning.models.layers.pooling import (
    AttentivePooling,
    PatchCriterion,
    PatchMode,
    TokenCriterion,
)
from fer_lightning.models.layers.transformer import PatchEmbed
from fer_lightning.models.registry import register_model


@register_model("vit", source="The Inductive Bias Gap", config="vit.yaml")
class ViT(PatchTransformer):
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
        keep_patches: how many of the patches reach the first layer; None for all.
        keep_rate: share of patch tokens that each layer of the second half passes on.
        patch_criterion: what makes a patch strong; ``"lanet"`` adds weights.
        token_criterion: how the heads' products of [CLS]'s query and a key make a token strong.
        patch_mode: leave weak patches out, or multiply all by their strength.

    >>> import torch
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
        keep_patches: int | None = None,
        keep_rate: float = 1.0,
        patch_criterion: PatchCriterion = "abs",
        token_criterion: TokenCriterion = "sum",
        patch_mode: PatchMode = "hard",
    ) -> None:
        check_sizes(num_classes=num_classes, in_chans=in_chans, image_size=image_size)
        check_sizes(patch_size=patch_size)
        sizes = Sizes(dim, depth, heads, mlp_ratio, dropout, drop_path, pool).check()
        if image_size % patch_size:
            raise UserError(
                f"expected image_size divisible by patch_size but got {image_size} and "
                f"{patch_size}; change either"
            )
        embed = PatchEmbed(image_size, patch_size, in_chans, dim)
        super().__init__(
            nn.Sequential(),
            embed,
            embed.grid,
            num_classes,
            sizes,
            AttentivePooling(keep_patches, keep_rate, patch_criterion, token_criterion, patch_mode),
        )


@register_model("vit_tiny", source="Patches vs Pixels", config="cifar/vit_tiny.yaml")
class ViTTiny(ViT):
    """The same network as `ViT`, with the source's sizes: 8x8 patches of 32x32 pixels, six layers.

    The defaults have 1,205,898 parameters. This is not timm's ``vit_tiny``, which is wider and
    deeper.
    The other arguments are those of `ViT`.

    Args:
        in_chans: channels of the images, 3 for colour.
        image_size: height and width of the images in pixels, divisible by `patch_size`.
        patch_size: height and width of a patch in pixels.

    >>> ViTTiny().positions.shape
    torch.Size([8, 8, 128])
    """

    def __init__(
        self,
        num_classes: int = 10,
        in_chans: int = 3,
        image_size: int = 32,
        patch_size: int = 4,
        dim: int = 128,
        depth: int = 6,
        heads: int = 4,
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        pool: Literal["cls", "mean"] = "cls",
    ) -> None:
        sizes = (num_classes, in_chans, image_size, patch_size, dim, depth, heads, mlp_ratio)
        super().__init__(*sizes, dropout, drop_path, pool)
