"""What is minimised beside the plain cross-entropy, from one forward pass of the model."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from torch import Tensor, nn

from fer_lightning import keys
from fer_lightning.models.base import VisionModel
from fer_lightning.training.losses.adaptive_weighting import (
    AdaptiveWeighting,
    InstanceWeights,
    kl_to_uniform,
    squared_norm,
    weight_entropy,
)
from fer_lightning.training.losses.attention_regulariser import (
    AttentionRegulariser,
    attention_to_regions,
    check_kind,
    guided_maps,
)


class Weighed(NamedTuple):
    """The images of a step and how much each counted."""

    row: Tensor  # (B,) of the image in its ImageSet
    weight: Tensor  # (B,) times the batch size: 1 is an image's equal share
    loss: Tensor  # (B,) cross-entropy


class Step(NamedTuple):
    """One training step."""

    logits: Tensor
    plain: Tensor  # mean cross-entropy, to be compared with runs without other terms
    loss: Tensor  # what is minimised
    terms: dict[str, Tensor]  # to be logged, before their factors
    weighed: Weighed | None


class Objective(nn.Module):
    """Adaptive weighting and the attention regulariser, one or both.

    Its parameters learn with the model's but are no part of the model.

    Args:
        net: the model that will be trained.
        regulariser: draws attention to face regions.
        weighting: weighs the images of a batch.
    """

    def __init__(
        self,
        net: VisionModel,
        regulariser: AttentionRegulariser | None,
        weighting: AdaptiveWeighting | None,
    ) -> None:
        super().__init__()
        self.regulariser, self.weighting = regulariser, weighting
        if regulariser is not None:
            check_kind(net, regulariser.kind)
        if weighting is not None:
            self.instance_weights = InstanceWeights(
                cast(nn.Linear, net.head).in_features, weighting
            )

    def forward(
        self,
        net: VisionModel,
        batch: Any,
        cross_entropy: Callable[..., Tensor],
        epoch: int,
        epochs: int,
    ) -> Step:
        """Return the step of a batch; with a regulariser it has masks.

        `cross_entropy` takes logits and the `reduction` of torch's; epochs are counted from 0.
        """
        with _head_inputs(net) as features:
            if self.regulariser is None:
                logits, maps = net.forward(batch.image), None
            else:
                logits, maps = guided_maps(net, batch.image, batch.label, self.regulariser.kind)
        plain = loss = cross_entropy(logits)
        terms: dict[str, Tensor] = {}
        weighed = None
        if self.weighting is not None:
            how = self.weighting
            log_w = self.instance_weights(features[-1])
            each = cross_entropy(logits, reduction="none")
            norm = squared_norm(net)
            loss = (log_w.exp() * each).sum() + how.l2 * norm + how.kl * kl_to_uniform(log_w)
            terms |= {keys.WEIGHT_ENTROPY: weight_entropy(log_w), keys.SQUARED_NORM: norm}
            weighed = Weighed(batch.row, log_w.exp().detach() * len(log_w), each.detach())
        if self.regulariser is not None and maps is not None:
            term = attention_to_regions(maps, batch.mask)
            loss = loss + self.regulariser.weight_at(epoch, epochs) * term
            terms[keys.ATTENTION_LOSS] = term
        terms = {name: value.detach() for name, value in terms.items()}
        return Step(logits, plain.detach(), loss, terms, weighed)


@contextmanager
def _head_inputs(net: VisionModel) -> Iterator[list[Tensor]]:
    """Collect what the head reads: the features of the same pass, whichever way it is made."""
    features: list[Tensor] = []
    handle = net.head.register_forward_pre_hook(lambda _, args: features.append(args[0]))
    try:
        yield features
    finally:
        handle.remove()
