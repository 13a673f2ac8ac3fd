"""Any backbone of timm as a model like ours."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fer_lightning.errors import UserError, nearest
from fer_lightning.models.base import NoAttentionError, VisionModel
from fer_lightning.models.layers.checks import check_sizes
from fer_lightning.models.layers.linear import quicken_linear
from fer_lightning.models.layers.pooling import (
    AttentivePooling,
    Canvas,
    Pass,
    TokenCriterion,
    left_mask,
)
from fer_lightning.models.layers.timm_layout import find_layout
from fer_lightning.models.registry import register_model
from fer_lightning.models.weights import compare, read_weights


def _pretrained_config(name: str) -> Any:
    """Return what timm knows of a backbone: input size, mean, std, classifier."""
    import timm  # slow to import

    if not isinstance(name, str) or not timm.is_model(name):
        hint = nearest(str(name), timm.list_models())  # a near name, or all of them: too many
        hint = hint if hint.startswith("did") else "timm.list_models() names them all"
        raise UserError(f"expected the name of a timm backbone but got '{name}'; {hint}")
    architecture, _, tag = name.partition(".")
    tags = [n.partition(".")[2] for n in timm.list_pretrained(f"{architecture}.*")]
    if tag and tag not in tags:
        raise UserError(
            f"expected published weights of '{architecture}' but got '{tag}'; {nearest(tag, tags)}"
        )
    return timm.get_pretrained_cfg(name)


def _create_backbone(
    name: str, in_chans: int, size: int, pretrained: bool, weights: str | None
) -> Any:
    """Make a backbone that returns its feature vector of images of `size` x `size` pixels."""
    import timm

    config = _pretrained_config(name)
    kwargs: dict[str, Any] = {"in_chans": in_chans, "num_classes": config.num_classes}
    if config.fixed_input_size:
        kwargs["img_size"] = size
    if weights is not None:
        backbone = _from_file(name, kwargs, config, weights)
    elif pretrained:
        backbone = _from_timm(name, kwargs, config)
    else:
        try:
            backbone = timm.create_model(name, **kwargs)
        except (AssertionError, ValueError, ZeroDivisionError) as error:
            raise UserError(
                f"expected images that {name} can take but got {size}x{size} pixels ({error}); "
                "give another input_size"
            ) from error
    backbone.reset_classifier(0)
    quicken_linear(backbone)
    return backbone


def _from_timm(name: str, kwargs: Mapping[str, Any], config: Any) -> Any:
    import timm
    from huggingface_hub.utils import HfHubHTTPError

    if not config.has_weights:
        raise UserError(
            f"expected a backbone with published weights but timm has none for {name}; "
            "set pretrained to false or give a local file by weights="
        )
    try:
        return timm.create_model(name, pretrained=True, **kwargs)
    except (OSError, HfHubHTTPError) as error:
        raise UserError(
            f"expected to fetch the weights of {name} but there is no network or no such file; "
            "fetch them elsewhere and give the local file by weights="
        ) from error


def _from_file(name: str, kwargs: dict[str, Any], config: Any, path: str) -> Any:
    import timm

    given = read_weights(path)
    if any(key.startswith("backbone.") for key in given):  # a model of ours around a backbone
        given = {k.removeprefix("backbone."): v for k, v in given.items() if k[:9] == "backbone."}
    names = [config.classifier] if isinstance(config.classifier, str) else config.classifier or []
    head = next((given[f"{n}.weight"] for n in names if f"{n}.weight" in given), None)
    kwargs["num_classes"] = 0 if head is None else len(head)  # so that timm loads strictly
    with torch.device("meta"):
        wanted: dict[str, Tensor] = timm.create_model(name, **kwargs).state_dict()
    overlay = {"state_dict": given, "num_classes": kwargs["num_classes"], "custom_load": False}
    try:
        if len(wanted.keys() & given.keys()) < len(wanted) / 2:
            raise RuntimeError("timm's converters of older namings expect the right family")
        backbone: Any = timm.create_model(
            name, pretrained=True, pretrained_cfg_overlay=overlay, **kwargs
        )
    except RuntimeError as error:  # also from load_state_dict
        raise UserError(
            f"expected the weights of {name} in timm's naming but {path} differs: "
            f"{compare(wanted, given)}; choose the backbone that they belong to"
        ) from error
    backbone.pretrained_cfg.pop("state_dict")  # else each copy of the model would carry it
    return backbone


class _TimmAttention:
    """timm's attention in the form that `Pass` takes."""

    def __init__(self, attn: Any) -> None:
        self.attn = attn
        self.dropout: float = attn.attn_drop.p
        self.training: bool = attn.training

    def split(self, x: Tensor, first: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
        parts = self.attn.qkv(x).unflatten(-1, (3, self.attn.num_heads, -1))  # B, n, 3, heads, d
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        return self.attn.q_norm(q[:, :, :first]), self.attn.k_norm(k), v

    def join(self, out: Tensor) -> Tensor:
        joined = self.attn.norm(out.transpose(1, 2).flatten(2))
        return self.attn.proj_drop(self.attn.proj(joined))


class _TimmLayer:
    """timm's transformer block in the form that `Pass` takes."""

    def __init__(self, block: Any) -> None:
        self.block = block
        self.attn = _TimmAttention(block.attn)
        self.norm1: nn.Module = block.norm1

    def __call__(self, x: Tensor, first: int | None = None) -> Tensor:
        """Run the whole block; all tokens, for timm's cannot leave some out."""
        return self.block(x)

    def add(self, x: Tensor, out: Tensor) -> Tensor:
        return x + self.block.drop_path1(self.block.ls1(out))

    def mlp_residual(self, x: Tensor) -> Tensor:
        out = self.block.ls2(self.block.mlp(self.block.norm2(x)))
        return x + self.block.drop_path2(out)


def _check_poolable(backbone: Any, name: str) -> None:
    """Refuse a backbone whose layers cannot drop tokens this way."""
    from timm.layers import Attention  # slow to import
    from timm.models.vision_transformer import Block, VisionTransformer

    plain = (
        type(backbone) is VisionTransformer
        and backbone.cls_token is not None
        and backbone.global_pool == "token"
        and all(type(b) is Block and type(b.attn) is Attention for b in backbone.blocks)
        and all(getattr(b.attn, "gate", None) is None for b in backbone.blocks)
    )
    if not plain:
        raise UserError(
            f"expected a plain vision transformer with [CLS] for keep_rate but got {name}; "
            "choose e.g. deit_tiny_patch16_224, or set keep_rate to 1"
        )


def _pooled_tokens(
    backbone: Any,
    x: Tensor,
    pooling: AttentivePooling,
    canvas: Canvas | None = None,
    maps: list[Tensor] | None = None,
) -> tuple[Tensor, Pass]:
    """Return the last layer's normalised tokens, (B, n, D), and the pass that chose them.

    Images are as the backbone takes them; `maps` takes each layer's attention, (B, heads, N, N).
    """
    tokens = backbone.norm_pre(backbone.patch_drop(backbone._pos_embed(backbone.patch_embed(x))))
    prefix, depth = backbone.num_prefix_tokens, len(backbone.blocks)
    at = pooling.deepest_layer(tokens.shape[1] - prefix, depth)
    layers = Pass(pooling, prefix, tokens.shape[1], canvas=canvas, canvas_at=at, maps=maps)
    tokens = layers.through([_TimmLayer(block) for block in backbone.blocks], tokens, None)
    return backbone.norm(tokens), layers


def _pooled_cam_layer(backbone: Any, pooling: AttentivePooling, canvas: Canvas) -> nn.Module:
    """Return the deepest layer whose patches have a gradient."""
    patches, depth = backbone.patch_embed.num_patches, len(backbone.blocks)
    at = pooling.deepest_layer(patches, depth)
    dropped = pooling.patches_by_layer(patches, depth)[at] < patches
    return canvas if dropped else backbone.blocks[at].norm1


@contextmanager
def _explicit_attention(backbone: nn.Module, tokens: int) -> Iterator[list[Tensor]]:
    """Make timm's attention step by step inside the block and collect it, layer by layer.

    timm's attention modules carry both ways of computing and a switch, `fused_attn`. Step by step,
    the softmax's output, after any norm of queries and keys and any rotation, goes to `attn_drop`.
    The list fills with (B, heads, tokens, tokens) while the backbone runs; attention over another
    number of tokens is left out.
    """
    maps: list[Tensor] = []

    def keep(_module: nn.Module, args: tuple[Any, ...]) -> None:
        if args[0].shape[-2:] == (tokens, tokens):
            maps.append(args[0])

    modules: list[Any] = [
        module
        for module in backbone.modules()
        if hasattr(module, "fused_attn")
        and isinstance(getattr(module, "attn_drop", None), nn.Module)
    ]
    fused = [module.fused_attn for module in modules]
    handles = []
    try:
        for module in modules:
            module.fused_attn = False
            handles.append(module.attn_drop.register_forward_pre_hook(keep))
        yield maps
    finally:
        for handle in handles:
            handle.remove()
        for module, before in zip(modules, fused, strict=True):
            module.fused_attn = before


@register_model("timm", source="any timm backbone; here resnet18", config="timm.yaml")
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
        config = _pretrained_config(name)
        if preprocess is None:
            preprocess = pretrained or weights is not None
        if preprocess and in_chans not in (1, config.input_size[0]):
            raise UserError(
                f"expected images of 1 or {config.input_size[0]} channels for the published "
                f"weights of {name} but got {in_chans}; set preprocess to false"
            )
        self.preprocess = self.scales_itself = preprocess
        if input_size is None:
            input_size = config.input_size[-1] if preprocess else image_size
        check_sizes(input_size=input_size)
        self.input_size = input_size
        self.interpolation = "bilinear" if config.interpolation == "bilinear" else "bicubic"
        channels = config.input_size[0] if preprocess else in_chans
        self.backbone = _create_backbone(name, channels, self.input_size, pretrained, weights)
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
            _check_poolable(self.backbone, name)
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
        own = {"input_size": self.input_size, "preprocess": self.preprocess}
        return super().rebuild_args() | own

    def prepare(self, x: Tensor) -> Tensor:
        """Return what the backbone takes of images in [0, 1], (B, in_chans, H, W)."""
        x = self.scaled(x)
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
        tokens, _ = _pooled_tokens(self.backbone, self.prepare(x), self.pooling, self.canvas)
        return self.backbone.forward_head(tokens, pre_logits=True)

    @torch.no_grad()
    def kept_masks(self, x: Tensor) -> dict[str, Tensor]:
        """Return which patches are left, (B, h, w) bools, after each layer that drops some."""
        if self.pooling is None:
            return {}
        _, layers = _pooled_tokens(self.backbone, self.prepare(x), self.pooling)
        return {
            f"layer {i + 1}": left_mask(ids, layers.places, layers.prefix, self.layout.grid)
            for i, ids in layers.dropped.items()
        }

    @property
    def cam_layer(self) -> nn.Module:
        """The deepest layer with a gradient at every place."""
        if self.pooling is not None:
            return _pooled_cam_layer(self.backbone, self.pooling, self.canvas)
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
            tokens, _ = _pooled_tokens(self.backbone, x, self.pooling, self.canvas, maps)
            return self.head(self.backbone.forward_head(tokens, pre_logits=True)), maps
        if self.layout.kind == "NLC":
            with _explicit_attention(self.backbone, self.num_prefix_tokens + h * w) as maps:
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
