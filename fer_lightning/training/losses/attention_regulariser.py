"""A loss term that draws a model's attention, or its class activation map, to regions of a picture.

The paper of the core experiment names such a term as future work; the formula is ours.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from fer_lightning.errors import UserError, nearest
from fer_lightning.models.base import VisionModel, in_eval_mode
from fer_lightning.training.optimizers import Schedule, lr_factor

Kind = Literal["attention", "cam"]
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
        region: of the data set; a face's ``key`` is eyes, eyebrows and mouth.
        schedule: ``constant`` or ``cosine``: down to zero over the epochs of the run.
        warmup_epochs: epochs in which the weight rises linearly before the schedule.

    >>> draw = AttentionRegulariser(weight=0.2, schedule="cosine", warmup_epochs=2)
    >>> [round(draw.weight_at(epoch, epochs=10), 2) for epoch in (0, 1, 2, 6)]
    [0.1, 0.2, 0.2, 0.1]
    """

    weight: float = 0.1
    kind: Kind = "attention"
    region: str = "key"
    schedule: Schedule = "constant"
    warmup_epochs: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.weight < float("inf"):
            raise UserError(f"expected a regulariser weight of at least 0 but got {self.weight}")
        if self.warmup_epochs < 0:
            raise UserError(f"expected warmup_epochs of at least 0 but got {self.warmup_epochs}")
        for name, value, choices in (
            ("kind", self.kind, Kind),
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
    """
    maps = maps.float()  # shares of half-precision maps would be coarse
    inside = F.adaptive_avg_pool2d(masks.float()[:, None], (maps.shape[1], maps.shape[2]))[:, 0]
    total = maps.sum((1, 2))
    warm = total > 0
    share = (maps * inside).sum((1, 2)) / total.where(warm, 1)
    cost = -share.clamp(min=SMALLEST_SHARE).log()
    return cost.where(warm, 0).sum() / warm.sum().clamp(min=1)


def guided_maps(
    net: VisionModel, images: Tensor, label: Tensor, kind: Kind
) -> tuple[Tensor, Tensor]:
    """Return logits, (B, K), and non-negative maps at the model's own grid, (B, h, w).

    A loss can be differentiated through both.
    """
    if kind == "attention":
        logits, layers = net.attend(images)
        last = layers[-1]  # B, heads, N, N; without [CLS] the mean over all rows is taken
        rows = last[:, :, 0] if net.num_prefix_tokens else last.mean(2)  # B, heads, N
        return logits, net.to_grid(rows.mean(1)[..., None])[:, 0]
    logits, signed = signed_cam(net, images, label)
    return logits, _softened(signed)


def signed_cam(net: VisionModel, images: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
    """Return logits and the Grad-CAM of the given classes before ReLU, as part of the graph.

    The model stays in the mode it is in. With BatchNorm in training, an image's logit depends a
    little on the others' activations; that part of the gradient is in the map too.
    """
    # the fused attention kernels cannot be differentiated twice
    with sdpa_kernel(SDPBackend.MATH), watched(net.cam_layer) as outputs:
        logits = net.forward(images)
    activation = outputs[-1]
    score = logits.gather(1, label[:, None]).sum()
    (slope,) = torch.autograd.grad(score, activation, create_graph=True)
    weights = net.to_grid(slope).mean((2, 3))
    return logits, torch.einsum("bc,bchw->bhw", weights, net.to_grid(activation))


def _softened(signed: Tensor) -> Tensor:
    """Return non-negative maps, (B, h, w), in units of each map's mean size.

    A smooth step takes the place of Grad-CAM's ReLU: places without heat, and maps without any,
    would get no gradient. Trained by this term alone on 16 drawn faces, with ReLU up to 12 maps
    became all zero; with this the share in the masks rose from 0.06 to 0.56 (ViT, learning rate
    3e-3) or 0.36 with 3 zero maps (5e-4), while a CNN kept 4 zero maps: better, not safe.
    """
    size = signed.detach().abs().mean((1, 2), keepdim=True)
    return F.softplus(signed / size.clamp(min=torch.finfo(size.dtype).tiny))


@contextmanager
def watched(layer: nn.Module) -> Iterator[list[Tensor]]:
    """Collect what a layer returns, as part of the graph."""
    outputs: list[Tensor] = []

    def keep(_module: nn.Module, _args: object, output: Tensor) -> Tensor:
        # behind frozen layers the graph starts here
        outputs.append(output if output.requires_grad else output.detach().requires_grad_())
        return outputs[-1].clone()  # what follows may work in place

    handle = layer.register_forward_hook(keep)
    try:
        yield outputs
    finally:
        handle.remove()


def check_kind(net: VisionModel, kind: Kind) -> None:
    """Ask the model for such maps once, so that one without any is refused before training."""
    if kind == "cam":
        _ = net.cam_layer
        return
    with in_eval_mode(net), torch.no_grad():
        net.attend(next(net.parameters()).new_zeros(net.input_shape()))
