"""Attentive token pooling inside timm's plain vision transformers; no weight is added."""

from typing import Any

from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.models.places import Canvas
from fer_lightning.models.pooling import AttentivePooling
from fer_lightning.models.token_pooling import Pass


class TimmAttention:
    """timm's attention in the form that `Pass` takes."""

    def __init__(self, attn: Any) -> None:
        self.attn = attn
        self.dropout: float = attn.attn_drop.p
        self.training: bool = attn.training

    def split(self, x: Tensor, first: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries (of the first tokens), keys and values, each (B, heads, n, d)."""
        parts = self.attn.qkv(x).unflatten(-1, (3, self.attn.num_heads, -1))  # B, n, 3, heads, d
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        return self.attn.q_norm(q[:, :, :first]), self.attn.k_norm(k), v

    def join(self, out: Tensor) -> Tensor:
        """Return (B, n, D) of the heads' outputs, (B, heads, n, d)."""
        joined = self.attn.norm(out.transpose(1, 2).flatten(2))
        return self.attn.proj_drop(self.attn.proj(joined))


class TimmLayer:
    """timm's transformer block in the form that `Pass` takes."""

    def __init__(self, block: Any) -> None:
        self.block = block
        self.attn = TimmAttention(block.attn)
        self.norm1: nn.Module = block.norm1

    def __call__(self, x: Tensor, first: int | None = None) -> Tensor:
        """Run the whole block; all tokens, for timm's cannot leave some out."""
        return self.block(x)

    def add(self, x: Tensor, out: Tensor) -> Tensor:
        """Add the attention's output."""
        return x + self.block.drop_path1(self.block.ls1(out))

    def think(self, x: Tensor) -> Tensor:
        """Run the second half."""
        out = self.block.ls2(self.block.mlp(self.block.norm2(x)))
        return x + self.block.drop_path2(out)


def check_poolable(backbone: Any, name: str) -> None:
    """Refuse a backbone whose layers cannot drop tokens this way.

    Raises:
        UserError: it is no plain vision transformer with a [CLS] token that the head reads.
    """
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


def pooled_tokens(
    backbone: Any,
    x: Tensor,
    pooling: AttentivePooling,
    canvas: Canvas | None = None,
    maps: list[Tensor] | None = None,
) -> tuple[Tensor, Pass]:
    """Return the last layer's normalised tokens, (B, n, D), and the pass that chose them.

    Args:
        backbone: as `check_poolable` wants it.
        x: images as the backbone takes them.
        pooling: which tokens are kept.
        canvas: where Grad-CAM reads.
        maps: takes each layer's attention, (B, heads, N, N), if given.
    """
    tokens = backbone.norm_pre(backbone.patch_drop(backbone._pos_embed(backbone.patch_embed(x))))
    prefix, depth = backbone.num_prefix_tokens, len(backbone.blocks)
    at = pooling.deepest_layer(tokens.shape[1] - prefix, depth)
    layers = Pass(pooling, prefix, tokens.shape[1], canvas=canvas, canvas_at=at, maps=maps)
    tokens = layers.through([TimmLayer(block) for block in backbone.blocks], tokens, None)
    return backbone.norm(tokens), layers


def pooled_cam_layer(backbone: Any, pooling: AttentivePooling, canvas: Canvas) -> nn.Module:
    """Return the deepest layer whose patches have a gradient."""
    patches, depth = backbone.patch_embed.num_patches, len(backbone.blocks)
    at = pooling.deepest_layer(patches, depth)
    dropped = pooling.patches_by_layer(patches, depth)[at] < patches
    return canvas if dropped else backbone.blocks[at].norm1
