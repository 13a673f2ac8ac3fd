"""APViT for small faces: a convolution stem, and a transformer that keeps strong patches only."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.models.layers.checks import check_sizes, check_stem, check_widths
from fer_lightning.models.layers.patch_transformer import PatchTransformer, Sizes
from fer_lightning.models.layers.pooling import (
    AttentivePooling,
    PatchCriterion,
    PatchMode,
    TokenCriterion,
)
from fer_lightning.models.layers.transformer import ConvStem, FeatureEmbed
from fer_lightning.models.registry import register_model

KERNELS, STRIDES = (3, 3, 3), (2, 2, 1)  # 48x48 pixels to 24x24 to 12x12 places
WIDTHS = (64, 128, 256)  # channels of each stage of IR-50
STRIDE = 8  # each of these stages halves height and width


@register_model("apvit", source="APViT, at 48x48", config="apvit.yaml")
class APViT(PatchTransformer):
    """The idea of APViT (Xue et al., 2022) at 48x48 pixels, for training on a CPU.

    Its sizes are ours: a stem to 12x12 places, of which 80 reach six layers of 96 channels; the
    last three drop a fifth of the tokens each. `APViT112` has the source's own sizes.
    The other arguments are those of `ViT`.

    Args:
        in_chans: channels of the images, 1 for grey.
        image_size: height and width of the images in pixels, divisible by 4.
        keep_patches: how many of the places reach the first layer; None for all.
        widths: channels of the stem's three convolutions.
        pool: the head reads the [CLS] token, or the mean of the patches (then there is no [CLS],
            and `keep_rate` must be 1).

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
        sizes = Sizes(dim, depth, heads, mlp_ratio, dropout, drop_path, pool).check()
        side = check_stem(image_size, 4)
        super().__init__(
            ConvStem(in_chans, widths, KERNELS, STRIDES),
            FeatureEmbed(widths[-1], dim),
            (side, side),
            num_classes,
            sizes,
            AttentivePooling(keep_patches, keep_rate, patch_criterion, token_criterion, patch_mode),
        )


class _Unit(nn.Module):
    """BatchNorm, 3x3 convolution, PReLU, 3x3 convolution, BatchNorm, beside a shortcut."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.res_layer = nn.Sequential(
            nn.BatchNorm2d(before),
            nn.Conv2d(before, width, 3, 1, 1, bias=False),
            nn.PReLU(width),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.shortcut_layer: nn.Module | None = None
        if before != width:
            self.shortcut_layer = nn.Sequential(
                nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x: Tensor) -> Tensor:
        if self.shortcut_layer is None:
            return self.res_layer(x) + x[..., :: self.stride, :: self.stride]
        return self.res_layer(x) + self.shortcut_layer(x)


class _IR50Stem(nn.Module):
    """Three stages of IR-50 (Deng et al., 2019): 112x112 pixels to 14x14 places of 256 channels.

    Names of weights are those of face.evoLVe's IR-50 files, whose fourth stage and output layer
    have no place here. Images in [0, 1] are scaled to [-1, 1], as those weights expect.
    """

    def __init__(self, in_chans: int, units: Sequence[int]) -> None:
        super().__init__()
        self.input_layer = nn.Sequential(
            nn.Conv2d(in_chans, WIDTHS[0], 3, 1, 1, bias=False),
            nn.BatchNorm2d(WIDTHS[0]),
            nn.PReLU(WIDTHS[0]),
        )
        self.body = nn.Sequential()
        before = WIDTHS[0]
        for width, count in zip(WIDTHS, units, strict=True):
            for unit in range(count):
                self.body.append(_Unit(before, width, stride=1 if unit else 2))
                before = width
        self.to(memory_format=torch.channels_last)  # faster on a CPU; loading keeps it

    def forward(self, x: Tensor) -> Tensor:
        """Return features, (B, 256, H/8, W/8), of images, (B, C, H, W)."""
        x = (2 * x - 1).contiguous(memory_format=torch.channels_last)
        return self.body(self.input_layer(x))


@register_model("apvit_112", source="APViT", config="apvit_112.yaml")
class APViT112(PatchTransformer):
    """IR-50 up to 14x14 places, then eight layers of which the last four drop tokens.

    65,209,543 parameters for seven classes, as the authors' code has. Multiply-adds of all tokens
    of all layers, norms and PReLU of the stem included: 12.661 G, against 15.293 G with nothing
    dropped; `forward` leaves out what nothing reads in the last layer. The head starts at zero.
    The other arguments are those of `ViT`.

    Args:
        in_chans: channels of the images, 3 for colour.
        image_size: height and width of the images in pixels, divisible by 8.
        keep_patches: how many of the places reach the first layer; None for all.
        units: units in each of the stem's three stages.
        pool: the head reads the [CLS] token, or the mean of the patches (then there is no [CLS],
            and `keep_rate` must be 1).

    >>> small = APViT112(image_size=32, keep_patches=9, units=(1, 1, 1), dim=32, depth=2)
    >>> small.grid, small.parts["stem"]
    ((4, 4), ('stem.',))
    """

    scales_itself = True  # to [-1, 1], in the stem

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
        sizes = Sizes(dim, depth, heads, mlp_ratio, dropout, drop_path, pool).check()
        side = check_stem(image_size, STRIDE)
        super().__init__(
            _IR50Stem(in_chans, units),
            FeatureEmbed(WIDTHS[-1], dim),
            (side, side),
            num_classes,
            sizes,
            AttentivePooling(keep_patches, keep_rate, patch_criterion, token_criterion, patch_mode),
            qkv_bias=False,
            norm_eps=1e-6,
        )
        for parameter in self.head.parameters():
            nn.init.zeros_(parameter)
