"""A loss term that draws a model's attention, or its class activation map, to regions of the face.

The paper of the core experiment names such a term as future work; the formula is ours.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import torch.nn.functional as F
from torch import Tensor

from fer_lightning.errors import UserError, nearest
from fer_lightning.lit.optimizers import Schedule, lr_factor

Kind = Literal["attention", "cam"]
Region = Literal["eyes", "eyebrow", "nose", "mouth", "key", "all", "face"]
SMALLEST_SHARE = 1e-6  # a map beside the regions costs 13.8, not infinitely much


@dataclass(frozen=True)
class AttentionRegulariser:
    """What is drawn where, and how strongly.

    Args:
        weight: factor of the term; a model that looks everywhere alike pays ``weight`` times
            -log(share of the image that the region covers), 1.7 for ``key`` of FER-2013.
        kind: ``attention`` takes the row of [CLS] in the last layer, averaged over heads;
            ``cam`` the Grad-CAM of the true class with its ReLU smoothed, which every model has
            but whose training steps are differentiated twice.
        region: which masks; ``key`` is eyes, eyebrows and mouth, ``all`` adds the nose.
        schedule: ``constant`` or ``cosine``: down to zero over the epochs of the run.
        warmup_epochs: epochs in which the weight rises linearly before the schedule.

    >>> draw = AttentionRegulariser(weight=0.2, schedule="cosine", warmup_epochs=2)
    >>> [round(draw.weight_at(epoch, epochs=10), 2) for epoch in (0, 1, 2, 6)]
    [0.1, 0.2, 0.2, 0.1]
    """

    weight: float = 0.1
    kind: Kind = "attention"
    region: Region = "key"
    schedule: Schedule = "constant"
    warmup_epochs: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.weight < float("inf"):
            raise UserError(f"expected a regulariser weight of at least 0 but got {self.weight}")
        if self.warmup_epochs < 0:
            raise UserError(f"expected warmup_epochs of at least 0 but got {self.warmup_epochs}")
        for name, value, choices in (
            ("kind", self.kind, Kind),
            ("region", self.region, Region),
            ("schedule", self.schedule, Schedule),
        ):
            if value not in get_args(choices):
                raise UserError(
                    f"expected a {name} of the regulariser but got '{value}'; "
                    f"{nearest(value, get_args(choices))}"
                )

    def weight_at(self, epoch: int, epochs: int) -> float:
        """Return the weight in an epoch, counted from 0, of a run of so many epochs."""
        return self.weight * lr_factor(epoch, self.schedule, self.warmup_epochs, epochs)


def attention_to_regions(maps: Tensor, masks: Tensor) -> Tensor:
    """Return minus the logarithm of the share of a map that lies in a region, averaged over images.

    It is 0 where everything lies inside. Only the share counts: a map may be scaled at will.
    Maps without any heat have no share; they are left out and get no gradient.

    Args:
        maps: (B, h, w), not negative.
        masks: (B, H, W) from 0 to 1; averaged over the area of each place of the map's grid.

    >>> import torch
    >>> maps = torch.tensor([[[3.0, 1.0], [0.0, 0.0]]])
    >>> mask = torch.tensor([[[1.0, 0.0], [0.0, 0.0]]])  # a share of 3/4
    >>> round(attention_to_regions(maps, mask).exp().item(), 4)
    1.3333
    """
    maps = maps.float()  # shares of half-precision maps would be coarse
    inside = F.adaptive_avg_pool2d(masks.float()[:, None], (maps.shape[1], maps.shape[2]))[:, 0]
    total = maps.sum((1, 2))
    warm = total > 0
    share = (maps * inside).sum((1, 2)) / total.where(warm, 1)
    cost = -share.clamp(min=SMALLEST_SHARE).log()
    return cost.where(warm, 0).sum() / warm.sum().clamp(min=1)
