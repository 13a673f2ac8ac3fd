"""Convolutions before a transformer: from pixels to a grid of features, and on to tokens."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.models.layers.checks import check_sizes


class ConvStem(nn.Sequential):
    """Convolutions without bias, each with BatchNorm and ReLU.

    Beyond its border an image goes on as it ends: a frame of zeros would be a strong feature, and
    what looks for strong patches would keep the border.

    Args:
        in_chans: channels of the images.
        widths: channels of each convolution.
        kernels: height and width of each.
        strides: by how much each makes the grid smaller; a kernel of odd size and padding
            (kernel - stride + 1) // 2 keep the grid where the image is.

    >>> ConvStem(1, (8, 16), (3, 5), (2, 3))(torch.zeros(2, 1, 48, 48)).shape
    torch.Size([2, 16, 8, 8])
    """

    def __init__(
        self, in_chans: int, widths: Sequence[int], kernels: Sequence[int], strides: Sequence[int]
    ) -> None:
        super().__init__()
        before = in_chans
        for width, kernel, stride in zip(widths, kernels, strides, strict=True):
            padding = (kernel - stride + 1) // 2
            convolution = nn.Conv2d(
                before, width, kernel, stride, padding, bias=False, padding_mode="replicate"
            )
            nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
            self.append(convolution)
            self.append(nn.BatchNorm2d(width))
            self.append(nn.ReLU())
            before = width
        self.to(memory_format=torch.channels_last)  # faster on a CPU; loading keeps it

    def forward(self, x: Tensor) -> Tensor:
        """Return features, (B, widths[-1], h, w), of images, (B, C, H, W)."""
        return super().forward(x.contiguous(memory_format=torch.channels_last))


def check_widths(widths: Sequence[int], count: int) -> None:
    """Refuse anything but the widths of so many convolutions."""
    if len(widths) != count:
        raise UserError(f"expected widths of {count} convolutions but got {widths}")
    for width in widths:
        check_sizes(widths=width)


def check_stem(image_size: int, stride: int) -> int:
    """Return the side of the grid that a stem makes of images.

    >>> check_stem(48, 4)
    12
    """
    check_sizes(image_size=image_size)
    if image_size % stride:
        raise UserError(
            f"expected image_size divisible by {stride}, the stem's stride, but got {image_size}; "
            f"resize to {max(round(image_size / stride), 1) * stride}"
        )
    return image_size // stride


class FeatureEmbed(nn.Module):
    """Project each place of a grid of features: a 1x1 convolution, as one matrix product.

    Args:
        chans: channels of the features.
        dim: width of a token.

    >>> import torch
    >>> FeatureEmbed(32, 96)(torch.zeros(2, 32, 12, 12)).shape
    torch.Size([2, 144, 96])
    """

    def __init__(self, chans: int, dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(chans, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Return tokens row by row, (B, h·w, dim), of features, (B, C, h, w)."""
        return self.proj(x.flatten(2).transpose(1, 2))
