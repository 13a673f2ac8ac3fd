"""The vision transformer of "Patches vs Pixels"."""

from typing import Literal

from fer_lightning.models.vit import ViT


class ViTTiny(ViT):
    """The same network as `ViT`, with the source's sizes: 8x8 patches of 32x32 pixels, six layers.

    The defaults have 1,205,898 parameters. This is not timm's ``vit_tiny``, which is wider and
    deeper.

    Args:
        num_classes: number of classes.
        in_chans: channels of the images, 3 for colour.
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
        super().__init__(
            num_classes,
            in_chans,
            image_size,
            patch_size,
            dim,
            depth,
            heads,
            mlp_ratio,
            dropout,
            drop_path,
            pool,
        )
