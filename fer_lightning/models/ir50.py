"""The first three stages of IR-50, a ResNet for face recognition (Deng et al., 2019)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

WIDTHS = (64, 128, 256)  # channels of each stage
STRIDE = 8  # each stage halves height and width


class Unit(nn.Module):
    """BatchNorm, 3x3 convolution, PReLU, 3x3 convolution, BatchNorm, beside a shortcut.

    Args:
        before: channels that it takes.
        width: channels that it gives.
        stride: of the second convolution and the shortcut.
    """

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
        """Return (B, width, h/stride, w/stride) of (B, before, h, w)."""
        if self.shortcut_layer is None:
            return self.res_layer(x) + x[..., :: self.stride, :: self.stride]
        return self.res_layer(x) + self.shortcut_layer(x)


class IR50Stem(nn.Module):
    """Three stages of IR-50: 112x112 pixels to 14x14 places of 256 channels.

    Names of weights are those of face.evoLVe's IR-50 files, whose fourth stage and output layer
    have no place here. Images in [0, 1] are scaled to [-1, 1], as those weights expect.

    Args:
        in_chans: channels of the images.
        units: units in each stage, the first of which halves the grid.

    >>> IR50Stem(3, units=(1, 1, 1))(torch.zeros(1, 3, 32, 32)).shape
    torch.Size([1, 256, 4, 4])
    """

    def __init__(self, in_chans: int = 3, units: Sequence[int] = (3, 4, 14)) -> None:
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
                self.body.append(Unit(before, width, stride=1 if unit else 2))
                before = width
        self.to(memory_format=torch.channels_last)  # faster on a CPU; loading keeps it

    def forward(self, x: Tensor) -> Tensor:
        """Return features, (B, 256, H/8, W/8), of images, (B, C, H, W)."""
        x = (2 * x - 1).contiguous(memory_format=torch.channels_last)
        return self.body(self.input_layer(x))
