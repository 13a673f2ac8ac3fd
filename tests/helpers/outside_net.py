"""A model as somebody else would write one, in a module of their own."""

from torch import Tensor, nn

from fer_lightning.models import VisionModel


class OutsideNet(VisionModel):
    """Two convolutions and the mean over all places."""

    def __init__(
        self, num_classes: int = 7, in_chans: int = 1, image_size: int = 48, width: int = 8
    ) -> None:
        super().__init__()
        self.stages = nn.Sequential(
            nn.Conv2d(in_chans, width, 3, padding=1),
            nn.GELU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, width, 3, padding=1),
            nn.GELU(),
        )
        self.head = nn.Linear(width, num_classes)

    def features(self, x: Tensor) -> Tensor:
        return self.stages(x).mean((2, 3))

    @property
    def cam_layer(self) -> nn.Module:
        return self.stages[-1]

    def to_grid(self, activation: Tensor) -> Tensor:
        return activation
