import pytest
import torch
from torch import nn

from fer_lightning.data.regions import FACE
from fer_lightning.models.base import VisionModel


class Spots(VisionModel):
    """Logit k is the sum of the pixels of row block k: the truth about where it looks is known.

    The picture is 8x8; class 0 reads the upper half, class 1 the lower one. A 1x1 convolution
    passes the picture on, so that Grad-CAM is the picture times the mean of the head's weights.
    """

    def __init__(self, num_classes=2, in_chans=1, image_size=8):
        super().__init__()
        self.conv = nn.Conv2d(in_chans, 1, 1, bias=False)
        self.head = nn.Linear(image_size**2, num_classes, bias=False)

    def features(self, x):
        return self.conv(x).flatten(1)

    @property
    def cam_layer(self):
        return self.conv

    def to_grid(self, activation):
        return activation


@pytest.fixture
def spots():
    model = Spots()
    with torch.no_grad():
        model.conv.weight.fill_(1.0)
        weight = torch.zeros(2, 8, 8)
        weight[0, :4] = weight[1, 4:] = 1.0
        model.head.weight.copy_(weight.flatten(1))
    return model


@pytest.fixture
def masks():
    """Masks (3, 7, 8, 8): each region a box of its own, the face the inner 6x6."""
    boxes = {
        "eyes": (slice(2, 3), slice(2, 6)),
        "eyebrow": (slice(1, 2), slice(2, 6)),
        "nose": (slice(3, 5), slice(3, 5)),
        "mouth": (slice(5, 7), slice(2, 6)),
        "face": (slice(1, 7), slice(1, 7)),
    }
    one = torch.zeros(7, 8, 8, dtype=torch.bool)
    for name, box in boxes.items():
        one[FACE.order.index(name)][box] = True
    key = one[[FACE.order.index(name) for name in ("eyes", "eyebrow", "mouth")]].any(0)
    one[FACE.order.index("key")] = key
    one[FACE.order.index("all")] = key | one[FACE.order.index("nose")]
    return one.repeat(3, 1, 1, 1)
