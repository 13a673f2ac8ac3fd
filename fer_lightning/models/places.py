"""Tokens that know their places: choosing some, and laying them out over all places again."""

from torch import Tensor, nn


def strongest(scores: Tensor, k: int) -> Tensor:
    """Return the indices of the k largest scores of each row, in ascending order, (B, k).

    >>> import torch
    >>> strongest(torch.tensor([[3.0, 1.0, 2.0]]), 2)
    tensor([[0, 2]])
    """
    return scores.topk(k, dim=1, sorted=False).indices.sort(dim=1).values


def take(tokens: Tensor, ids: Tensor) -> Tensor:
    """Return the tokens with these indices: (B, n, D) of (B, N, D) and (B, n).

    >>> import torch
    >>> take(torch.tensor([[[5.0], [6.0], [7.0]]]), torch.tensor([[0, 2]]))
    tensor([[[5.],
             [7.]]])
    """
    return tokens.gather(1, ids[..., None].expand(-1, -1, tokens.shape[-1]))


def spread(tokens: Tensor, ids: Tensor, places: int) -> Tensor:
    """Lay tokens, (B, n, D), at their places, (B, n), with zeros at the others: (B, places, D).

    >>> import torch
    >>> spread(torch.tensor([[[5.0], [7.0]]]), torch.tensor([[0, 2]]), 3)[0, :, 0]
    tensor([5., 0., 7.])
    """
    canvas = tokens.new_zeros(tokens.shape[0], places, tokens.shape[-1])
    return canvas.scatter(1, ids[..., None].expand_as(tokens), tokens)


def spread_square(weights: Tensor, ids: Tensor, places: int) -> Tensor:
    """Lay attention, (B, heads, n, n), out as (B, heads, places, places); other rows are zero."""
    B, H, n, _ = weights.shape
    wide = weights.new_zeros(B, H, n, places)
    wide = wide.scatter(3, ids[:, None, None].expand(-1, H, n, -1), weights)
    square = weights.new_zeros(B, H, places, places)
    return square.scatter(2, ids[:, None, :, None].expand(-1, H, -1, places), wide)


def take_square(square: Tensor, ids: Tensor) -> Tensor:
    """Return the rows and columns of these tokens: the inverse of `spread_square`.

    >>> import torch
    >>> ids, weights = torch.tensor([[0, 2]]), torch.rand(1, 1, 2, 2)
    >>> torch.equal(take_square(spread_square(weights, ids, 3), ids), weights)
    True
    """
    _, H, N, _ = square.shape
    wide = square.gather(2, ids[:, None, :, None].expand(-1, H, -1, N))
    return wide.gather(3, ids[:, None, None].expand(-1, H, ids.shape[1], -1))


def left_mask(ids: Tensor, places: int, prefix: int, grid: tuple[int, int]) -> Tensor:
    """Return which patches are among the tokens at these places, (B, h, w) bools.

    >>> import torch
    >>> left_mask(torch.tensor([[0, 1, 4]]), places=5, prefix=1, grid=(2, 2)).int()
    tensor([[[1, 0],
             [0, 1]]], dtype=torch.int32)
    """
    mask = ids.new_zeros(len(ids), places).scatter(1, ids, 1).bool()
    return mask[:, prefix:].unflatten(1, grid)


class Canvas(nn.Module):
    """`spread` as a layer, so that Grad-CAM can read all places at its output."""

    def forward(self, tokens: Tensor, ids: Tensor, places: int) -> Tensor:
        """Return (B, places, D) of tokens, (B, n, D), at the places ids, (B, n)."""
        return spread(tokens, ids, places)
