"""The small network to use where none has to be compared: residual, for grey faces of 48x48."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fer_lightning.models.base import VisionModel
from fer_lightning.models.layers.checks import check_sizes
from fer_lightning.models.registry import register_model
from fer_lightning.models.small_resnet import BasicBlock

STEM = 24  # feature maps before the first stage
STAGES = ((24, 1), (48, 2), (112, 2))  # width and blocks of each; all but the first halve the maps


@register_model("flagship", source="fer_lightning", config="flagship.yaml")
class Flagship(VisionModel):
    """A 5x5 stem that halves the image, three stages of basic blocks, global average, linear head.

    At 48x48 the stages see 24x24, 12x12 and 6x6 places: most of the arithmetic is where maps are
    small, which is what a CPU can train in an evening.

    Args:
        num_classes: number of classes.
        in_chans: channels of the images, 3 for colour.
        image_size: height and width of the images in pixels; it changes no parameter.
        dropout: share of the features that is hidden from the head in training.

    >>> Flagship()(torch.zeros(2, 1, 48, 48)).shape
    torch.Size([2, 7])
    """

    def __init__(
        self, num_classes: int = 7, in_chans: int = 1, image_size: int = 48, dropout: float = 0.2
    ) -> None:
        super().__init__()
        check_sizes(num_classes=num_classes, in_chans=in_chans)
        check_sizes(least=2 ** len(STAGES), image_size=image_size)
        self.stem = nn.Sequential(
            nn.Conv2d(in_chans, STEM, 5, 2, padding=2, bias=False), nn.BatchNorm2d(STEM)
        )
        self.blocks = nn.Sequential()
        before = STEM
        for stage, (width, blocks) in enumerate(STAGES):
            for block in range(blocks):
                self.blocks.append(BasicBlock(before, width, 2 if stage and not block else 1))
                before = width
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(before, num_classes)
        self.to(memory_format=torch.channels_last)  # faster on a CPU; loading keeps it

    def features(self, x: Tensor) -> Tensor:
        """Return the mean over all places of the last feature maps, (B, 112)."""
        x = self.scaled(x).contiguous(memory_format=torch.channels_last)
        return self.dropout(self.blocks(F.relu(self.stem(x))).mean((2, 3)))

    @property
    def cam_layer(self) -> nn.Module:
        """The last block: 6x6 at 48x48."""
        return self.blocks[-1]
