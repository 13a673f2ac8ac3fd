"""The small convolutional network of "Patches vs Pixels"."""

from collections import OrderedDict

import torch
from torch import Tensor, nn

from fer_lightning.models.base import VisionModel
from fer_lightning.models.layers.checks import check_sizes
from fer_lightning.models.registry import register_model

WIDTHS = (32, 32, 64, 64, 128)  # of the five 3x3 convolutions
POOLED_AFTER = (2, 4)  # these convolutions, counted from 1


@register_model("simple_cnn", source="Patches vs Pixels", config="cifar/simple_cnn.yaml")
class SimpleCNN(VisionModel):
    """Five 3x3 convolutions, two poolings, global average, linear head.

    BatchNorm and ReLU follow each convolution; 2x2 max pooling follows the second and the fourth.
    The defaults are the source's CIFAR-10: 141,354 parameters.

    Args:
        num_classes: number of classes.
        in_chans: channels of the images, 3 for colour.
        image_size: height and width of the images in pixels; it changes no parameter.

    >>> SimpleCNN()(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    def __init__(self, num_classes: int = 10, in_chans: int = 3, image_size: int = 32) -> None:
        super().__init__()
        check_sizes(num_classes=num_classes, in_chans=in_chans)
        check_sizes(least=2 ** len(POOLED_AFTER), image_size=image_size)
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for i, (before, width) in enumerate(
            zip((in_chans, *WIDTHS), WIDTHS, strict=False), start=1
        ):
            layers[f"conv{i}"] = nn.Conv2d(before, width, 3, padding=1)
            layers[f"norm{i}"] = nn.BatchNorm2d(width)
            layers[f"relu{i}"] = nn.ReLU()
            if i in POOLED_AFTER:
                layers[f"pool{i}"] = nn.MaxPool2d(2)
        self.stages = nn.Sequential(layers)
        self.head = nn.Linear(WIDTHS[-1], num_classes)
        self.to(memory_format=torch.channels_last)  # faster on a CPU; loading keeps it

    def features(self, x: Tensor) -> Tensor:
        """Return the mean over all places of the last feature maps, (B, 128)."""
        x = self.scaled(x).contiguous(memory_format=torch.channels_last)
        return self.stages(x).mean((2, 3))

    @property
    def cam_layer(self) -> nn.Module:
        """The last ReLU: 8x8 at 32x32."""
        return self.stages.get_submodule(f"relu{len(WIDTHS)}")
