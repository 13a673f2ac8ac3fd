"""Convolutions before the vision transformer of the core experiment, at the same size."""

from collections.abc import Sequence
from typing import Literal

from fer_lightning.models.layers.checks import check_sizes, check_stem, check_widths
from fer_lightning.models.layers.patch_transformer import PatchTransformer, Sizes
from fer_lightning.models.layers.pooling import AttentivePooling
from fer_lightning.models.layers.transformer import ConvStem, FeatureEmbed
from fer_lightning.models.registry import register_model

KERNELS, STRIDES = (3, 3, 5, 3), (2, 1, 3, 1)  # 48x48 pixels to 24x24 to 8x8 places


@register_model("hybrid_vit", source="The Inductive Bias Gap (outlook)", config="hybrid_vit.yaml")
class HybridViT(PatchTransformer):
    """A convolution stem, then the layers of `ViT` on the same 8x8 grid.

    One of the ViT's four layers gives way to the stem, as Xiao et al. (Early Convolutions Help
    Transformers See Better, 2021) do for a fair comparison: 807,351 parameters against the ViT's
    807,431. The stem's widths are ours, chosen for that.
    The other arguments are those of `ViT`.

    Args:
        in_chans: channels of the images, 1 for grey.
        image_size: height and width of the images in pixels, divisible by 6.
        widths: channels of the stem's four convolutions.

    >>> import torch
    >>> HybridViT()(torch.zeros(2, 1, 48, 48)).shape
    torch.Size([2, 7])
    """

    def __init__(
        self,
        num_classes: int = 7,
        in_chans: int = 1,
        image_size: int = 48,
        widths: Sequence[int] = (24, 32, 100, 112),
        dim: int = 128,
        depth: int = 3,
        heads: int = 4,
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        pool: Literal["cls", "mean"] = "cls",
    ) -> None:
        check_sizes(num_classes=num_classes, in_chans=in_chans)
        check_widths(widths, len(KERNELS))
        sizes = Sizes(dim, depth, heads, mlp_ratio, dropout, drop_path, pool).check()
        side = check_stem(image_size, 6)
        super().__init__(
            ConvStem(in_chans, widths, KERNELS, STRIDES),
            FeatureEmbed(widths[-1], dim),
            (side, side),
            num_classes,
            sizes,
            AttentivePooling(),
        )
