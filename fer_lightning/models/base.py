"""The questions every model answers, so that nothing else needs to know which model it has."""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.models.layers.pooling import AttentivePooling


class NoAttentionError(UserError):
    """The model was asked for attention maps and has none over the whole image."""


class VisionModel(nn.Module, ABC):
    """A classifier of (B, C, H, W) images in [0, 1] that can also say where it looks.

    Every subclass takes ``num_classes``, ``in_chans`` and ``image_size`` first, gives every
    argument a default, sets ``self.head``, the last linear layer, and begins its work on images
    with ``self.scaled(images)``: a model carries the scale that it was trained with, and everybody
    feeds it [0, 1].

    Hooks on its layers see nothing in a model that is compiled in place and called; call its
    `forward`, `features` or `attend`, which are never compiled.

    `init_args` holds the arguments an instance was made with, defaults included, so that a
    checkpoint can rebuild it.
    """

    head: nn.Module
    init_args: dict[str, Any]
    num_prefix_tokens: int = 0  # tokens such as [CLS] that stand before those of the patches
    pooling: AttentivePooling | None = None  # what is kept; None if nothing can be dropped
    fetching: ClassVar[tuple[str, ...]] = ()  # arguments that make the constructor fetch weights
    scales_itself: bool = False  # images are brought to a scale that published weights expect
    pixel_mean: Tensor | None  # (C, 1, 1) in [0, 1]; None takes pixels as they are
    pixel_std: Tensor | None

    def __init__(self) -> None:
        super().__init__()
        for name in ("pixel_mean", "pixel_std"):  # no weights: a checkpoint's description has them
            self.register_buffer(name, None, persistent=False)

    def __new__(cls, *args: Any, **kwargs: Any) -> "VisionModel":
        """Remember the arguments (copying and unpickling call this without any)."""
        self = super().__new__(cls)
        bound = inspect.signature(cls.__init__).bind_partial(None, *args, **kwargs)
        bound.apply_defaults()
        object.__setattr__(
            self, "init_args", {k: v for k, v in bound.arguments.items() if k != "self"}
        )
        return self

    def rebuild_args(self) -> dict[str, Any]:
        """Return the arguments for a model of the same shape that fetches no weights."""
        return {k: v for k, v in self.init_args.items() if k not in self.fetching}

    def input_shape(self, batch: int = 1) -> tuple[int, int, int, int]:
        """Return the shape of the images it was built for, (B, C, H, W)."""
        size = self.init_args["image_size"]
        return batch, self.init_args["in_chans"], size, size

    @property
    def scale(self) -> dict[str, list[float]] | None:
        """The ``mean`` and ``std`` of each channel by which it standardises images, or None."""
        if self.pixel_mean is None or self.pixel_std is None:
            return None
        mean, std = self.pixel_mean.flatten(), self.pixel_std.flatten()
        return {"mean": mean.tolist(), "std": std.tolist()}

    def set_scale(self, mean: Sequence[float] = (), std: Sequence[float] = ()) -> None:
        """Standardise images from now on; without numbers they are taken as they are.

        Args:
            mean: of each channel of images in [0, 1].
            std: standard deviation of each channel.

        Raises:
            UserError: numbers that cannot be, or a model that does not use `scaled`.

        >>> from fer_lightning.models import CNN
        >>> model = CNN()
        >>> model.set_scale(mean=[0.5], std=[0.25])
        >>> model.scaled(torch.ones(1, 1, 2, 2)).mean().item(), model.scale
        (2.0, {'mean': [0.5], 'std': [0.25]})
        """
        if not len(mean) and not len(std):
            self.pixel_mean = self.pixel_std = None
            return
        chans = self.init_args["in_chans"]
        if not len(mean) == len(std) == chans or not all(
            math.isfinite(m) and math.isfinite(s) and s > 0 for m, s in zip(mean, std, strict=True)
        ):
            raise UserError(
                f"expected a mean and a positive standard deviation for each of {chans} channels "
                f"but got {list(mean)!r:.60} and {list(std)!r:.60}"
            )
        weight = next(self.parameters()).detach()
        if self.scales_itself:
            why = "scales them itself, as its weights expect"
        elif not self._uses_scale(weight):
            why = "does not begin with self.scaled(images)"
        else:
            self.pixel_mean = weight.new_tensor(mean).view(-1, 1, 1)
            self.pixel_std = weight.new_tensor(std).view(-1, 1, 1)
            return
        raise UserError(
            f"expected a model that can standardise images but {type(self).__name__} {why}; "
            "use --data.scale=unit"
        )

    def scaled(self, x: Tensor) -> Tensor:
        """Return images in [0, 1], (B, C, H, W), at the scale that the model was trained with."""
        if self.pixel_mean is None or self.pixel_std is None:
            return x
        return (x - self.pixel_mean) / self.pixel_std

    @torch.no_grad()
    def _uses_scale(self, weight: Tensor) -> bool:
        """Ask whether a mean that is no number makes features that are none."""
        before = self.pixel_mean, self.pixel_std
        try:
            self.pixel_mean = self.pixel_std = weight.new_full((1,), math.nan)
            with in_eval_mode(self):
                return bool(self.features(weight.new_zeros(self.input_shape())).isnan().all())
        finally:
            self.pixel_mean, self.pixel_std = before

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

    def to_grid(self, activation: Tensor) -> Tensor:
        """Lay the output of `cam_layer` out as (B, C, h, w), each value at its place in the image.

        Feature maps are such a grid already. A model of tokens lays out any (B, N, C) in its order
        of tokens, so that a row of attention, (B, N, heads), becomes a map of each head. A model
        that drops tokens has a `cam_layer` whose output is zero at their places.
        """
        return activation

    def attend(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return logits and, per layer, the attention they were made with, (B, heads, N, N).

        Logits are differentiable with respect to the maps, whose rows sum to 1. The first
        `num_prefix_tokens` of the N tokens stand for no place in the image. N is the same in each
        layer: the rows and columns of tokens that a model dropped before it are zero.
        """
        raise NoAttentionError(
            f"expected a model with global attention but got {type(self).__name__}, "
            "which has none; use Grad-CAM instead"
        )

    def attention_maps(self, x: Tensor) -> list[Tensor]:
        """Return the maps of `attend`."""
        return self.attend(x)[1]

    def kept_masks(self, x: Tensor) -> dict[str, Tensor]:
        """Return the places that are left after each stage that drops some, (B, h, w) bools.

        Stages are in order, by a name that pictures can show. Most models drop nothing: {}.
        """
        return {}

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """How the names of weights begin, for each part that can come from elsewhere.

        Every weight but the head's belongs to one part: to ``"stem"`` if the model has a module
        `stem` with weights before its encoder, else to ``"encoder"``.

        >>> from fer_lightning.models import CNN
        >>> CNN().parts
        {'encoder': ('stages.', 'feature_layer.')}
        """
        own = [f"{name}." for name, child in self.named_children() if child.state_dict()]
        own += [name for name, _ in self.named_parameters(recurse=False)]
        stem = tuple(name for name in own if name == "stem.")
        encoder = tuple(name for name in own if name not in ("stem.", "head."))
        return {"stem": stem, "encoder": encoder} if stem else {"encoder": encoder}

    @property
    def positions(self) -> Tensor:
        """The learned position of each patch, (h, w, D)."""
        raise NoAttentionError(
            f"expected a model with learned positions but got {type(self).__name__}, "
            "which has none; use a ViT"
        )


@contextmanager
def in_eval_mode(model: nn.Module) -> Iterator[None]:
    """Put a model into eval mode for a while; then each module is in its own mode again."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def unwrap(model: nn.Module) -> nn.Module:
    """Return the model inside torch.compile's wrapper, or the model itself."""
    return getattr(model, "_orig_mod", model)
