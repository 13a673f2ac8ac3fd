"""The convolutional network of the core experiment."""

from collections import OrderedDict
from typing import Literal

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.models.base import VisionModel
from fer_lightning.models.layers.checks import check_rates, check_sizes, check_widths
from fer_lightning.models.registry import register_model

KERNELS = (3, 3, 5, 3)  # of the four convolutions, "same" padding
WIDTHS = {"stage": (32, 32, 64, 64), "layer": (32, 64, 128, 128)}
FEATURE_WIDTH = {"stage": 128, "layer": 256}
POOLED_AFTER = {"stage": (1, 3), "layer": (0, 1, 2, 3)}  # indices of convolutions


@register_model("cnn", source="The Inductive Bias Gap", config="cnn.yaml")
class CNN(VisionModel):
    """Four convolutions, a fully connected feature layer and a classifier.

    ReLU follows each convolution. BatchNorm, 2x2 max pooling and Dropout close each of two stages
    of two convolutions (``pooling="stage"``), or follow each convolution (``"layer"``). The paper
    gives no widths: those here are ours.

    Args:
        num_classes: number of classes.
        in_chans: channels of the images, 1 for grey.
        image_size: height and width of the images in pixels.
        pooling: after each stage, or after each layer.
        widths: channels of the four convolutions; None takes (32, 32, 64, 64) for ``"stage"`` and
            (32, 64, 128, 128) for ``"layer"``.
        feature_width: width of the feature layer; None takes 128 for ``"stage"``, 256 for
            ``"layer"``.
        dropout: rate of Dropout after each pooling.

    >>> CNN()(torch.zeros(2, 1, 48, 48)).shape
    torch.Size([2, 7])
    """

    def __init__(
        self,
        num_classes: int = 7,
        in_chans: int = 1,
        image_size: int = 48,
        pooling: Literal["stage", "layer"] = "stage",
        widths: tuple[int, ...] | None = None,
        feature_width: int | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if pooling not in WIDTHS:
            raise UserError(f"expected pooling 'stage' or 'layer' but got {pooling!r}")
        widths = WIDTHS[pooling] if widths is None else tuple(widths)
        feature_width = FEATURE_WIDTH[pooling] if feature_width is None else feature_width
        pooled_after = POOLED_AFTER[pooling]
        check_widths(widths, len(KERNELS))
        check_sizes(num_classes=num_classes, in_chans=in_chans, feature_width=feature_width)
        check_sizes(least=2 ** len(pooled_after), image_size=image_size)
        check_rates(dropout=dropout)

        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for i, (kernel, before, width) in enumerate(
            zip(KERNELS, (in_chans, *widths), widths, strict=False), start=1
        ):
            layers[f"conv{i}"] = nn.Conv2d(before, width, kernel, padding=kernel // 2)
            layers[f"relu{i}"] = nn.ReLU()
            if i - 1 in pooled_after:
                layers[f"norm{i}"] = nn.BatchNorm2d(width)
                layers[f"pool{i}"] = nn.MaxPool2d(2)
                layers[f"drop{i}"] = nn.Dropout(dropout)
        self.stages = nn.Sequential(layers)
        grid = image_size // 2 ** len(pooled_after)
        self.feature_layer = nn.Sequential(
            nn.Flatten(), nn.Linear(widths[-1] * grid * grid, feature_width), nn.ReLU()
        )
        self.head = nn.Linear(feature_width, num_classes)
        self.to(memory_format=torch.channels_last)  # twice as fast on a CPU; loading keeps it

    def features(self, x: Tensor) -> Tensor:
        """Return the output of the feature layer, (B, feature_width)."""
        x = self.scaled(x).contiguous(memory_format=torch.channels_last)
        return self.feature_layer(self.stages(x))

    @property
    def cam_layer(self) -> nn.Module:
        """The last ReLU before the last pooling: 24x24 for stages, 6x6 for layers at 48x48."""
        return self.stages.get_submodule(f"relu{len(KERNELS)}")
