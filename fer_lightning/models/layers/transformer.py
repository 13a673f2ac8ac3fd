"""Parts of a vision transformer: stem of convolutions, embeddings, attention, block."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fer_lightning.models.layers.linear import Linear, linear


class PatchEmbed(nn.Module):
    """Cut the image into square patches and project each by one linear layer.

    The same map as a convolution whose stride is its kernel, as one matrix product. The image's
    side must be divisible by the patch's.
    """

    def __init__(self, image_size: int, patch_size: int, in_chans: int, dim: int) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.grid = (image_size // patch_size, image_size // patch_size)  # rows, columns
        self.proj = Linear(in_chans * patch_size * patch_size, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Return tokens row by row, (B, h·w, dim), of images, (B, C, H, W)."""
        B, C, _, _ = x.shape
        (h, w), p = self.grid, self.patch_size
        patches = x.reshape(B, C, h, p, w, p).permute(0, 2, 4, 1, 3, 5)  # B, h, w, C, p, p
        return self.proj(patches.reshape(B, h * w, C * p * p))


class EdgeConv2d(nn.Conv2d):
    """A convolution without bias; beyond its border an image continues as it ends."""

    def __init__(self, before: int, width: int, kernel: int, stride: int, border: int) -> None:
        super().__init__(
            before, width, kernel, stride, border, bias=False, padding_mode="replicate"
        )
        self.border = border

    def forward(self, x: Tensor) -> Tensor:
        """Do as `torch.nn.Conv2d` does, also where torch.compile reads along."""
        if not torch.compiler.is_compiling():
            return super().forward(x)
        # Inductor refuses the gradient of replicate padding (torch 2.15), and fuses these copies
        return F.conv2d(continued(x, self.border), self.weight, None, self.stride)


def continued(x: Tensor, border: int) -> Tensor:
    """Repeat the outermost places of features (B, C, H, W) on each side.

    >>> continued(torch.tensor([[[[1.0, 2.0]]]]), 1)[0, 0].tolist()
    [[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]
    """
    x = x.permute(0, 2, 3, 1)  # (B, H, W, C), as it lies in memory
    for side in (1, 2):
        first, last = x.narrow(side, 0, 1), x.narrow(side, x.shape[side] - 1, 1)
        x = torch.cat([*[first] * border, x, *[last] * border], side)
    return x.permute(0, 3, 1, 2)


class ConvStem(nn.Sequential):
    """Convolutions without bias, each with BatchNorm and ReLU.

    Beyond its border an image continues as it ends: a frame of zeros would be a strong feature, and
    what looks for strong patches would keep the border. A kernel of odd size and padding (kernel -
    stride + 1) // 2 keep the grid where the image is.

    >>> ConvStem(1, (8, 16), (3, 5), (2, 3))(torch.zeros(2, 1, 48, 48)).shape
    torch.Size([2, 16, 8, 8])
    """

    def __init__(
        self, in_chans: int, widths: Sequence[int], kernels: Sequence[int], strides: Sequence[int]
    ) -> None:
        super().__init__()
        before = in_chans
        for width, kernel, stride in zip(widths, kernels, strides, strict=True):
            padding = (kernel - stride + 1) // 2
            convolution = EdgeConv2d(before, width, kernel, stride, padding)
            nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
            self.append(convolution)
            self.append(nn.BatchNorm2d(width))
            self.append(nn.ReLU())
            before = width
        self.to(memory_format=torch.channels_last)  # faster on a CPU; loading keeps it

    def forward(self, x: Tensor) -> Tensor:
        """Return features, (B, widths[-1], h, w), of images, (B, C, H, W)."""
        return super().forward(x.contiguous(memory_format=torch.channels_last))


class FeatureEmbed(nn.Module):
    """Project each place of a grid of features: a 1x1 convolution, as one matrix product."""

    def __init__(self, chans: int, dim: int) -> None:
        super().__init__()
        self.proj = Linear(chans, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Return tokens row by row, (B, h·w, dim), of features, (B, C, h, w)."""
        return self.proj(x.flatten(2).transpose(1, 2))


class Attention(nn.Module):
    """Multi-head self-attention with one projection for queries, keys and values."""

    def __init__(self, dim: int, heads: int, dropout: float = 0.0, qkv_bias: bool = True) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.qkv = Linear(dim, 3 * dim, bias=qkv_bias)
        self.proj = Linear(dim, dim)

    def split(self, x: Tensor, first: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries (of the `first` tokens only, or of all), keys and values of (B, N, dim).

        Each is (B, heads, N, dim/heads).
        """
        if first is None:
            parts = self.qkv(x).chunk(3, dim=-1)
        else:
            w, b, dim = self.qkv.weight, self.qkv.bias, x.shape[-1]
            q = F.linear(x[:, :first], w[:dim], None if b is None else b[:dim])
            kv = linear(x, w[dim:], None if b is None else b[dim:])
            parts = (q, *kv.chunk(2, dim=-1))
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        return q, k, v

    def join(self, out: Tensor) -> Tensor:
        """Return (B, N, dim) of the heads' outputs, (B, heads, N, dim/heads)."""
        return self.proj(out.transpose(1, 2).flatten(2))

    def forward(self, x: Tensor, first: int | None = None) -> Tensor:
        """Return (B, N, dim) of (B, N, dim), or (B, first, dim): the first tokens' rows only."""
        rate = self.dropout if self.training else 0.0
        return self.join(mix(*self.split(x, first), rate))


def mix(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout: float = 0.0,
    see: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Mix values by attention: by torch's fused kernel, or step by step where it is to be seen.

    Queries are (B, heads, n, d), keys and values (B, heads, N, d). `see` is handed the attention,
    (B, heads, n, N), before dropout and returns what to use.
    """
    if see is None:
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
    weights = see((q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1))
    return F.dropout(weights, dropout) @ v


class DropPath(nn.Module):
    """In training, set whole samples to zero at a rate and scale the others up to keep the mean."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, ...) of (B, ...)."""
        if not self.training:
            return x
        kept = x.new_empty(x.shape[0], *[1] * (x.ndim - 1)).bernoulli_(1 - self.rate)
        return x * kept / (1 - self.rate)


class Block(nn.Module):
    """A pre-norm transformer layer.

    Dropout acts on attention, on the MLP's hidden layer and on both residual branches; `drop_path`
    is the rate at which a residual branch is dropped whole, per image.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        qkv_bias: bool = True,
        norm_eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=norm_eps)
        self.attn = Attention(dim, heads, dropout, qkv_bias)
        self.norm2 = nn.LayerNorm(dim, eps=norm_eps)
        hidden = int(dim * mlp_ratio)
        self.mlp = nn.Sequential(
            Linear(dim, hidden), nn.GELU(), nn.Dropout(dropout), Linear(hidden, dim)
        )
        self.branch = nn.Sequential()  # what happens to a branch before it is added
        if dropout:
            self.branch.append(nn.Dropout(dropout))
        if drop_path:
            self.branch.append(DropPath(drop_path))

    def forward(self, x: Tensor, first: int | None = None) -> Tensor:
        """Return (B, N, dim) of (B, N, dim), or (B, first, dim): the first tokens' rows only."""
        return self.mlp_residual(self.add(x[:, :first], self.attn(self.norm1(x), first)))

    def add(self, x: Tensor, out: Tensor) -> Tensor:
        """Add the output of a residual branch."""
        return x + self.branch(out)

    def mlp_residual(self, x: Tensor) -> Tensor:
        """Run the second half: the MLP."""
        return self.add(x, self.mlp(self.norm2(x)))


def init_linear(module: nn.Module) -> None:
    """Draw linear weights from Glorot's uniform distribution, as ViT's authors do; biases are 0."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def tokens_to_grid(tokens: Tensor, grid: tuple[int, int], prefix: int) -> Tensor:
    """Lay tokens out row by row as (B, C, h, w), leaving the first `prefix` of them out.

    >>> tokens_to_grid(torch.arange(5.0).view(1, 5, 1), (2, 2), prefix=1)
    tensor([[[[1., 2.],
              [3., 4.]]]])
    """
    return tokens[:, prefix:].transpose(1, 2).unflatten(2, grid)
