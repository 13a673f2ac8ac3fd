"""The questions every model answers, so that nothing else needs to know which model it has."""

import inspect
from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor, nn


class NoAttentionError(ValueError):
    """The model was asked for attention maps and has none over the whole image."""


class VisionModel(nn.Module, ABC):
    """A classifier of (B, C, H, W) images in [0, 1] that can also say where it looks.

    Every subclass takes ``num_classes``, ``in_chans`` and ``image_size`` first, gives every
    argument a default, and sets ``self.head``, the last linear layer.
    `init_args` holds the arguments an instance was made with, defaults included, so that a
    checkpoint can rebuild it.
    """

    head: nn.Module
    init_args: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> "VisionModel":
        """Remember the arguments (copying and unpickling call this without any)."""
        self = super().__new__(cls)
        bound = inspect.signature(cls.__init__).bind_partial(None, *args, **kwargs)
        bound.apply_defaults()
        object.__setattr__(
            self, "init_args", {k: v for k, v in bound.arguments.items() if k != "self"}
        )
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Return logits, (B, num_classes)."""
        return self.head(self.features(x))

    @abstractmethod
    def features(self, x: Tensor) -> Tensor:
        """Return the penultimate vector, (B, D): what the head reads and t-SNE shows."""

    @property
    @abstractmethod
    def cam_layer(self) -> nn.Module:
        """The layer whose output Grad-CAM reads: the deepest with a gradient at every place."""

    @abstractmethod
    def to_grid(self, activation: Tensor) -> Tensor:
        """Lay the output of `cam_layer` out as (B, C, h, w), each value at its place in the image."""

    def attention_maps(self, x: Tensor) -> list[Tensor]:
        """Return per layer the attention, (B, heads, N, N), rows summing to 1.

        Raises:
            NoAttentionError: the model has no attention over the whole image.
        """
        raise NoAttentionError(
            f"expected a model with global attention but got {type(self).__name__}, "
            "which has none; use Grad-CAM instead"
        )
