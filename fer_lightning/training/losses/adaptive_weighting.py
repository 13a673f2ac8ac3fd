"""Adaptive weighting: a batch's images count as much as a learned score of their features says.

From the protocol paper, with the loss L of each image: z = W·LayerNorm(h) of the features h,
w = softmax(alpha · g(z)) over the batch; Σ w·L + lambda · ‖θ‖² + mu · KL(w‖uniform) is minimised.

Nothing in it asks for difficult images to be learned. Σ w·L is smaller if weight moves from images
with a large loss to images with a small one, so that the weights flee from what is hard, and only
the KL term holds them: for given losses the best weights are softmax(-L / mu), in which at
mu = 0.048 an image whose loss is 0.1 larger than another's counts an eighth of it. That is why the
entropy of the weights and the rank correlation of weight and loss are logged.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError


@dataclass(frozen=True)
class AdaptiveWeighting:
    """Loss Σ w·L + l2·‖θ‖² + kl·KL(w‖uniform), with weights w learned from the features.

    Args:
        alpha: sharpness of the softmax.
        l2: factor of the squared norm of all weights of the model that learn, biases and norms
            included. The stated 0.0097 is strong: the ViT starts with ‖θ‖² of about 4,100 and the
            CNN with 210, so that this term begins at 40 and 2.
        kl: factor of the divergence of the weights from equal ones.
        width: of the projection z; None leaves the projection out, and the features themselves are
            scored.

    >>> AdaptiveWeighting(alpha=0)
    Traceback (most recent call last):
    fer_lightning.errors.UserError: expected alpha above 0 but got 0; ...
    """

    alpha: float = 1.71
    l2: float = 0.0097
    kl: float = 0.048
    width: int | None = 128

    def __post_init__(self) -> None:
        if not 0 < self.alpha < math.inf:
            raise UserError(
                f"expected alpha above 0 but got {self.alpha}; leave the weighting out to weigh "
                "all images alike"
            )
        for name, value in (("l2", self.l2), ("kl", self.kl)):
            if not 0 <= value < math.inf:
                raise UserError(f"expected {name} of at least 0 but got {value}")
        if self.width is not None and not 1 <= self.width <= 65536:
            raise UserError(
                f"expected a width from 1 to 65536, or null for no projection, but got {self.width}"
            )


class InstanceWeights(nn.Module):
    """The logarithm of each image's weight in its batch, (B,), of features, (B, D).

    LayerNorm has neither scale nor shift and the linear layers no bias: a scale would be part of
    the projection, and what all images share cancels in the softmax. The score starts at zero, so
    that training begins with equal weights.

    >>> weights = InstanceWeights(5, AdaptiveWeighting())
    >>> weights(torch.randn(4, 5)).exp().tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    def __init__(self, features: int, how: AdaptiveWeighting) -> None:
        super().__init__()
        self.alpha = how.alpha
        self.norm = nn.LayerNorm(features, elementwise_affine=False)
        width = features if how.width is None else how.width
        self.project: nn.Module = nn.Identity()
        if how.width is not None:
            self.project = nn.Linear(features, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)
        nn.init.zeros_(self.score.weight)

    def forward(self, features: Tensor) -> Tensor:
        """Return log w; the weights of a batch sum to 1."""
        scores = self.score(self.project(self.norm(features)))[:, 0]
        return (self.alpha * scores.float()).log_softmax(0)


def kl_to_uniform(log_weights: Tensor) -> Tensor:
    """Return KL(w‖uniform) of weights that sum to 1, in nats, of their logarithms, (B,)."""
    return (log_weights.exp() * (log_weights + math.log(len(log_weights)))).sum()


def weight_entropy(log_weights: Tensor) -> Tensor:
    """Return the entropy of weights over the largest possible one: 1 if all are alike."""
    return 1 - kl_to_uniform(log_weights) / math.log(max(len(log_weights), 2))


def squared_norm(net: nn.Module) -> Tensor:
    """Return ‖θ‖², the sum of squares of all parameters that learn."""
    squares = [p.float().square().sum() for p in net.parameters() if p.requires_grad]
    return torch.stack(squares).sum() if squares else torch.zeros(())
