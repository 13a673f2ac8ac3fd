"""The small residual network of "Patches vs Pixels"."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fer_lightning.models.base import VisionModel
from fer_lightning.models.layers.checks import check_sizes
from fer_lightning.models.registry import register_model

WIDTHS = (16, 32, 64)  # of the three stages
BLOCKS = 2  # in each stage


@register_model("small_resnet", source="Patches vs Pixels", config="cifar/small_resnet.yaml")
class SmallResNet(VisionModel):
    """CIFAR's ResNet-14: a 3x3 stem, three stages of two basic blocks, global average, linear head.

    The second and the third stage halve height and width. The defaults are the source's CIFAR-10:
    175,258 parameters.

    Args:
        num_classes: number of classes.
        in_chans: channels of the images, 3 for colour.
        image_size: height and width of the images in pixels; it changes no parameter.

    >>> SmallResNet()(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    def __init__(self, num_classes: int = 10, in_chans: int = 3, image_size: int = 32) -> None:
        super().__init__()
        check_sizes(num_classes=num_classes, in_chans=in_chans)
        check_sizes(least=2 ** (len(WIDTHS) - 1), image_size=image_size)
        self.stem = nn.Sequential(_conv3x3(in_chans, WIDTHS[0]), nn.BatchNorm2d(WIDTHS[0]))
        self.blocks = nn.Sequential()
        before = WIDTHS[0]
        for stage, width in enumerate(WIDTHS):
            for block in range(BLOCKS):
                stride = 2 if stage > 0 and block == 0 else 1
                self.blocks.append(BasicBlock(before, width, stride))
                before = width
        self.head = nn.Linear(before, num_classes)
        self.to(memory_format=torch.channels_last)  # faster on a CPU; loading keeps it

    def features(self, x: Tensor) -> Tensor:
        """Return the mean over all places of the last feature maps, (B, 64)."""
        x = self.scaled(x).contiguous(memory_format=torch.channels_last)
        return self.blocks(F.relu(self.stem(x))).mean((2, 3))

    @property
    def cam_layer(self) -> nn.Module:
        """The last block: 8x8 at 32x32."""
        return self.blocks[-1]


class BasicBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut, which is 1x1 where the shape changes.

    Args:
        before: channels of the input.
        width: channels of the output.
        stride: 2 halves height and width.
    """

    def __init__(self, before: int, width: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = _conv3x3(before, width, stride)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = _conv3x3(width, width)
        self.norm2 = nn.BatchNorm2d(width)
        self.shortcut = nn.Sequential()
        if before != width or stride != 1:
            self.shortcut.append(nn.Conv2d(before, width, 1, stride, bias=False))
            self.shortcut.append(nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        """Return new feature maps, (B, width, h, w)."""
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


def _conv3x3(before: int, width: int, stride: int = 1) -> nn.Conv2d:
    """Return a 3x3 convolution without bias: a norm follows it."""
    return nn.Conv2d(before, width, 3, stride, padding=1, bias=False)
