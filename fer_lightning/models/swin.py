"""Windowed attention: timm's Swin Transformer, sized for faces of 48x48 pixels."""

from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.models.base import NoAttentionError, VisionModel
from fer_lightning.models.layers.checks import check_rates, check_sizes
from fer_lightning.models.layers.transformer import init_linear
from fer_lightning.models.registry import register_model


@register_model("swin", source="The Inductive Bias Gap", config="swin.yaml")
class Swin(VisionModel):
    """A Swin Transformer whose grids are 24x24, 12x12 and 6x6 for 48x48 pixels.

    Args:
        num_classes: number of classes.
        in_chans: channels of the images, 1 for grey.
        image_size: height and width of the images in pixels; `patch_size` and a halving before
            each later stage must divide it.
        patch_size: height and width of a patch in pixels.
        window_size: height and width of an attention window in patches.
        embed_dim: width of a token in the first stage; it doubles with each later stage.
        depths: number of blocks in each stage.
        heads: number of attention heads in each stage.
        drop_path: rate at which the last block's residual branches are dropped whole.
        init: how linear weights start: ``trunc_normal`` with a standard deviation of 0.02, as
            Swin's authors and timm do, which is little for 36 channels, or ``xavier`` (Glorot's
            uniform distribution), as our ViT does.

    >>> import torch
    >>> Swin()(torch.zeros(2, 1, 48, 48)).shape
    torch.Size([2, 7])
    """

    def __init__(
        self,
        num_classes: int = 7,
        in_chans: int = 1,
        image_size: int = 48,
        patch_size: int = 2,
        window_size: int = 6,
        embed_dim: int = 36,
        depths: Sequence[int] = (2, 2, 2),
        heads: Sequence[int] = (3, 6, 12),
        drop_path: float = 0.0,
        init: Literal["trunc_normal", "xavier"] = "trunc_normal",
    ) -> None:
        super().__init__()
        check_sizes(num_classes=num_classes, in_chans=in_chans, image_size=image_size)
        check_sizes(patch_size=patch_size, window_size=window_size, embed_dim=embed_dim)
        check_rates(drop_path=drop_path)
        if init not in ("trunc_normal", "xavier"):
            raise UserError(f"expected init 'trunc_normal' or 'xavier' but got {init!r}")
        if len(depths) != len(heads) or not depths:
            raise UserError(
                f"expected depths and heads of the same stages but got {depths} and {heads}"
            )
        for depth, count in zip(depths, heads, strict=True):
            check_sizes(most=1000, depths=depth, heads=count)
        step = patch_size * 2 ** (len(depths) - 1)
        if image_size % step:
            raise UserError(
                f"expected image_size divisible by {step} (patches of {patch_size} pixels, halved "
                f"{len(depths) - 1} times) but got {image_size}; change either"
            )
        for stage, count in enumerate(heads):
            if embed_dim * 2**stage % count:
                raise UserError(
                    f"expected {embed_dim * 2**stage} channels divisible by the heads of stage "
                    f"{stage + 1} but got {count} heads; change embed_dim or heads"
                )
        from fer_lightning.models.layers.windows import SwinTransformer, quicken  # slow to import

        backbone = SwinTransformer(
            img_size=image_size,
            patch_size=patch_size,
            in_chans=in_chans,
            num_classes=0,  # the head is ours
            embed_dim=embed_dim,
            depths=tuple(depths),
            num_heads=tuple(heads),
            window_size=window_size,
            drop_path_rate=drop_path,
        )
        self.backbone = quicken(backbone)
        self.head = nn.Linear(self.backbone.num_features, num_classes)
        nn.init.trunc_normal_(self.head.weight, std=0.02)  # as timm does
        nn.init.zeros_(self.head.bias)
        if init == "xavier":
            self.apply(init_linear)

    def features(self, x: Tensor) -> Tensor:
        """Return the mean of the last stage's normalised tokens, (B, D)."""
        return self.backbone(self.scaled(x))

    @property
    def cam_layer(self) -> nn.Module:
        """The last LayerNorm: (B, 6, 6, D) at 48x48; the mean after it reads every place."""
        return self.backbone.get_submodule("norm")

    def to_grid(self, activation: Tensor) -> Tensor:
        """Return (B, C, h, w) of timm's (B, h, w, C)."""
        return activation.permute(0, 3, 1, 2)

    def attend(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Refuse: a window's attention is no map of the image."""
        raise NoAttentionError(
            "expected a model with global attention but got Swin, whose attention is windowed; "
            "use Grad-CAM instead"
        )
