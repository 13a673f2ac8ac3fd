"""timm's window attention with fewer copies on a CPU; weights, names and outputs stay timm's.

Importing this imports timm, which is slow.
"""

from functools import cache
from typing import Any

import torch
from timm.models.swin_transformer import SwinTransformer, SwinTransformerBlock, WindowAttention
from torch import Tensor

from fer_lightning.models.layers.linear import quicken_linear, read_along


def quicken(backbone: SwinTransformer) -> SwinTransformer:
    """Let a Swin Transformer's blocks attend as written here; nothing of its state changes."""
    quicken_linear(backbone)
    for module in backbone.modules():
        if type(module) is SwinTransformerBlock:
            module.__class__ = Block
            module._init_buffers()
        elif type(module) is WindowAttention:
            module.__class__ = Attention
    return backbone


class Block(SwinTransformerBlock):
    """Shifts and cuts into windows by one copy, and by one back."""

    def get_attn_mask(self, *args: Any, **kwargs: Any) -> Tensor | None:
        """Return timm's mask with minus infinity instead of -100.

        The exponential of -100 is a number so small that a CPU computes with it several times as
        slowly as with 0, which is what it means.
        """
        mask = super().get_attn_mask(*args, **kwargs)
        return None if mask is None else mask.masked_fill(mask != 0, -torch.inf)

    def _attn(self, x: Tensor) -> Tensor:
        """Return (B, H, W, C) of (B, H, W, C)."""
        B, H, W, C = x.shape
        rows, columns = self.window_size
        if H % rows or W % columns or self.dynamic_mask or read_along():
            return super()._attn(x)  # pads; or compiles to the same
        tokens = x.reshape(B, H * W, C)
        to_windows, back = _orders((H, W), (rows, columns), tuple(self.shift_size), x.device)
        tokens = _Reorder.apply(tokens, to_windows, back)
        tokens = self.attn(tokens.view(-1, rows * columns, C), mask=self.attn_mask)
        return _Reorder.apply(tokens.view(B, H * W, C), back, to_windows).view(B, H, W, C)


class Attention(WindowAttention):
    """Makes the attention of each head from where queries, keys and values lie."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return (windows, N, C) of (windows, N, C).

        Args:
            x: tokens; the windows of an image follow each other.
            mask: added to the attention's logits in each window of an image, (windows of it, N, N).
        """
        if read_along() or not x.is_cpu or torch.is_autocast_enabled("cpu"):
            return super().forward(x, mask)
        bias = self._get_rel_pos_bias()[0].unsqueeze(1)  # (heads, 1, N, N)
        if mask is not None:
            bias = bias + mask
        qkv = self.qkv(x).unflatten(-1, (3, self.num_heads, -1))
        return self.proj(_Mix.apply(qkv, bias, self.scale).flatten(2))


@cache
def _orders(
    grid: tuple[int, int], window: tuple[int, int], shift: tuple[int, int], device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return which token of a grid comes at each place of its shifted windows, and the inverse.

    >>> [order.tolist() for order in _orders((2, 4), (2, 2), (0, 1), torch.device("cpu"))]
    [[1, 2, 5, 6, 3, 0, 7, 4], [5, 0, 1, 4, 7, 2, 3, 6]]
    """
    (h, w), (rows, columns), (up, left) = grid, window, shift
    tokens = torch.arange(h * w).view(h, w).roll((-up, -left), (0, 1))
    order = tokens.view(h // rows, rows, w // columns, columns).transpose(1, 2).flatten()
    return order.to(device), order.argsort().to(device)


class _Reorder(torch.autograd.Function):
    """Tokens (B, n, C) in another order; the gradient is put back by a copy, too, not by sums."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, order: Tensor, back: Tensor) -> Tensor:
        ctx.save_for_backward(order, back)
        return x.index_select(1, order)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        order, back = ctx.saved_tensors
        return _Reorder.apply(gradients[0], back, order), None, None


class _Mix(torch.autograd.Function):
    """Attention (windows, N, heads, D) of queries, keys and values (windows, N, 3, heads, D).

    The bias, (heads, n, N, N), is added to every n windows alike. Matrix products read each head
    where it lies: batches of a head have one stride, so that nothing is copied for them.
    """

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, bias: Tensor, scale: float) -> Tensor:
        windows, N, _, heads, D = qkv.shape
        weights = qkv.new_empty(heads, windows, N, N)
        weights.view(heads, -1, *bias.shape[1:]).copy_(bias.unsqueeze(1))
        out = qkv.new_empty(heads, windows, N, D)
        q, k, v = qkv.unbind(2)
        for h, head in enumerate(weights):
            torch.baddbmm(head, q[:, :, h], k[:, :, h].mT, alpha=scale, out=head)
            torch.softmax(head, -1, out=head)
            torch.bmm(head, v[:, :, h], out=out[h])
        ctx.save_for_backward(qkv, bias, weights)
        ctx.scale = scale
        return out.permute(1, 2, 0, 3).contiguous()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (gradient,) = gradients
        qkv, bias, weights = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is to be differentiated again
            out = _plain_mix(qkv, bias, ctx.scale)
            of_qkv, of_bias = torch.autograd.grad(out, (qkv, bias), gradient, create_graph=True)
            return of_qkv, of_bias, None
        q, k, v = qkv.unbind(2)
        windows, N, _, heads, D = qkv.shape
        parts = qkv.new_empty(3, heads, windows, N, D)  # gradients of q, k, v
        of_bias = torch.empty_like(bias)
        for h, head in enumerate(weights):
            out = gradient[:, :, h]
            torch.bmm(head.mT, out, out=parts[2, h])
            logits = torch._softmax_backward_data(torch.bmm(out, v[:, :, h].mT), head, -1, q.dtype)
            torch.sum(logits.view(-1, *bias.shape[1:]), 0, out=of_bias[h])
            for part, left, right in ((0, logits, k), (1, logits.mT, q)):
                to = parts[part, h]
                torch.baddbmm(to, left, right[:, :, h], beta=0, alpha=ctx.scale, out=to)
        return parts.permute(2, 3, 0, 1, 4).contiguous(), of_bias, None


def _plain_mix(qkv: Tensor, bias: Tensor, scale: float) -> Tensor:
    """Do as `_Mix` by operations that can be differentiated twice."""
    q, k, v = qkv.permute(2, 3, 0, 1, 4)  # (heads, windows, N, D) each
    logits = (q @ k.mT * scale).unflatten(1, (-1, bias.shape[1])) + bias.unsqueeze(1)
    return (logits.flatten(1, 2).softmax(-1) @ v).permute(1, 2, 0, 3)
