"""Any backbone of timm as a model like ours."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fer_lightning.errors import UserError
from fer_lightning.models.base import NoAttentionError, VisionModel
from fer_lightning.models.checks import check_sizes
from fer_lightning.models.explicit import explicit_attention
from fer_lightning.models.layout import find_layout
from fer_lightning.models.places import Canvas, left_mask
from fer_lightning.models.pooling import AttentivePooling, TokenCriterion
from fer_lightning.models.timm_create import create_backbone, pretrained_config
from fer_lightning.models.timm_pooling import check_poolable, pooled_cam_layer, pooled_tokens


class Timm(VisionModel):
    """A timm backbone and a linear head of its own.

    It takes images in [0, 1] of the data set's size and channels. With published weights it
    resizes, colours and normalises them as those weights expect; without, the backbone is built
    for the data set's own size and channels.

    Args:
        num_classes: number of classes.
        in_chans: channels of the images, 1 for grey.
        image_size: height and width of the images in pixels.
        name: timm's name, e.g. ``"resnet18"`` or, with the weights' tag, ``"resnet18.a1_in1k"``.
        pretrained: fetch the weights that timm publishes.
        weights: load this file instead: safetensors or a torch checkpoint of weights.
        input_size: height and width in pixels that the backbone takes; None takes that of its
            published weights, or `image_size` if it has no such weights here.
        preprocess: treat images as the published weights expect; None does so if there are
            `pretrained` or `weights`. True without either is the control for a transfer.
        keep_rate: share of patch tokens that each layer of the second half passes on; below 1 only
            for a plain vision transformer with [CLS], such as DeiT.
        token_criterion: how the heads' products of [CLS]'s query and a key make a token strong.

    >>> Timm(name="resnet18")(torch.zeros(2, 1, 48, 48)).shape
    torch.Size([2, 7])
    """

    fetching = ("pretrained", "weights")
    mean: Tensor
    std: Tensor

    def __init__(
        self,
        num_classes: int = 7,
        in_chans: int = 1,
        image_size: int = 48,
        name: str = "resnet18",
        pretrained: bool = False,
        weights: str | None = None,
        input_size: int | None = None,
        preprocess: bool | None = None,
        keep_rate: float = 1.0,
        token_criterion: TokenCriterion = "sum",
    ) -> None:
        super().__init__()
        check_sizes(num_classes=num_classes, in_chans=in_chans, image_size=image_size)
        config = pretrained_config(name)
        if preprocess is None:
            preprocess = pretrained or weights is not None
        if preprocess and in_chans not in (1, config.input_size[0]):
            raise UserError(
                f"expected images of 1 or {config.input_size[0]} channels for the published "
                f"weights of {name} but got {in_chans}; set preprocess to false"
            )
        self.preprocess = preprocess
        if input_size is None:
            input_size = config.input_size[-1] if preprocess else image_size
        check_sizes(input_size=input_size)
        self.input_size = input_size
        self.interpolation = "bilinear" if config.interpolation == "bilinear" else "bicubic"
        channels = config.input_size[0] if preprocess else in_chans
        self.backbone = create_backbone(name, channels, self.input_size, pretrained, weights)
        for key, value in (("mean", config.mean), ("std", config.std)):
            self.register_buffer(key, torch.tensor(value).view(1, -1, 1, 1), persistent=False)
        self._check_patches(name)
        image = torch.linspace(0, 1, self.input_size).expand(1, channels, self.input_size, -1)
        self.eval()
        try:
            self.layout = find_layout(self.backbone, image)
        except (RuntimeError, AssertionError) as error:
            raise UserError(
                f"expected images that {name} can take but got {self.input_size}x"
                f"{self.input_size} pixels ({error}); give a larger input_size"
            ) from error
        self.train()
        self.num_prefix_tokens = self.layout.prefix
        self.canvas = Canvas()
        AttentivePooling(keep_rate=keep_rate, token_criterion=token_criterion).check(0, True)
        if keep_rate != 1:
            check_poolable(self.backbone, name)
            self.pooling = AttentivePooling(keep_rate=keep_rate, token_criterion=token_criterion)
        self.head = nn.Linear(self.layout.width, num_classes)
        self.channels_last = self.layout.kind == "NCHW"
        if self.channels_last:
            self.backbone.to(memory_format=torch.channels_last)  # faster; loading keeps it

    def _check_patches(self, name: str) -> None:
        """Refuse a size that would leave pixels at the edge out of every patch."""
        embed: Any = getattr(self.backbone, "patch_embed", None)
        if not hasattr(embed, "grid_size"):  # patches overlap, or there are none
            return
        patch = embed.patch_size
        if self.input_size % patch[0]:
            raise UserError(
                f"expected images in patches of {patch[0]} pixels for {name} but got "
                f"{self.input_size}; give an input_size divisible by {patch[0]}"
            )

    def rebuild_args(self) -> dict[str, Any]:
        """Return the arguments for a model of the same shape that fetches no weights."""
        return super().rebuild_args() | {
            "input_size": self.input_size,
            "preprocess": self.preprocess,
        }

    def prepare(self, x: Tensor) -> Tensor:
        """Return what the backbone takes of images in [0, 1], (B, in_chans, H, W)."""
        if x.shape[-1] != self.input_size:
            size = (self.input_size, self.input_size)
            x = F.interpolate(x, size, mode=self.interpolation, antialias=True)
        if self.preprocess:
            x = (x - self.mean) / self.std  # grey becomes colour here
        return x.contiguous(memory_format=torch.channels_last) if self.channels_last else x

    def features(self, x: Tensor) -> Tensor:
        """Return the vector that the backbone's own classifier would read, (B, D)."""
        if self.pooling is None:
            return self.backbone(self.prepare(x))
        tokens, _ = pooled_tokens(self.backbone, self.prepare(x), self.pooling, self.canvas)
        return self.backbone.forward_head(tokens, pre_logits=True)

    @torch.no_grad()
    def kept_masks(self, x: Tensor) -> dict[str, Tensor]:
        """Return which patches are left, (B, h, w) bools, after each layer that drops some."""
        if self.pooling is None:
            return {}
        _, layers = pooled_tokens(self.backbone, self.prepare(x), self.pooling)
        return {
            f"layer {i + 1}": left_mask(ids, layers.places, layers.prefix, self.layout.grid)
            for i, ids in layers.dropped.items()
        }

    @property
    def cam_layer(self) -> nn.Module:
        """The deepest layer with a gradient at every place.

        Raises:
            UserError: the backbone keeps no grid of places.
        """
        if self.pooling is not None:
            return pooled_cam_layer(self.backbone, self.pooling, self.canvas)
        if self.layout.cam_layer is None:
            raise UserError(
                f"expected a backbone whose features keep their places but got "
                f"{self.init_args['name']}, which has none that Grad-CAM can read"
            )
        return self.backbone.get_submodule(self.layout.cam_layer)

    def to_grid(self, activation: Tensor) -> Tensor:
        """Return (B, C, h, w) of the output of `cam_layer`."""
        return self.layout.to_grid(activation)

    def attend(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return logits and each layer's attention, (B, heads, N, N)."""
        h, w = self.layout.grid
        maps: list[Tensor] = []
        if self.pooling is not None:
            x = self.prepare(x)
            tokens, _ = pooled_tokens(self.backbone, x, self.pooling, self.canvas, maps)
            return self.head(self.backbone.forward_head(tokens, pre_logits=True)), maps
        if self.layout.kind == "NLC":
            with explicit_attention(self.backbone, self.num_prefix_tokens + h * w) as maps:
                logits = self.head(self.features(x))
        if not maps:
            raise NoAttentionError(
                f"expected a model with global attention but got {self.init_args['name']}, whose "
                "attention is windowed or which has none; use Grad-CAM instead"
            )
        return logits, maps

    @property
    def positions(self) -> Tensor:
        """The learned position of each patch, (h, w, D)."""
        position = getattr(self.backbone, "pos_embed", None)
        h, w = self.layout.grid
        if self.layout.kind != "NLC" or not isinstance(position, Tensor) or position.ndim != 3:
            return super().positions
        return position[0, -h * w :].unflatten(0, self.layout.grid)  # some have none for [CLS]
