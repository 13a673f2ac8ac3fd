"""Correlation of many pairs at once, undefined where one side does not vary."""

import torch
from scipy.stats import rankdata
from torch import Tensor


def pearson(a: Tensor, b: Tensor) -> Tensor:
    """Correlate row by row: two (N, P) → (N,) float64, NaN where a row is constant.

    >>> pearson(torch.tensor([[1.0, 2, 3], [1, 1, 1]]), torch.tensor([[2.0, 4, 6], [1, 2, 3]]))
    tensor([1., nan], dtype=torch.float64)
    """
    a, b = _centred(a), _centred(b)
    return (a * b).sum(1) / (a.square().sum(1) * b.square().sum(1)).sqrt()


def spearman(a: Tensor, b: Tensor) -> Tensor:
    """Correlate the ranks row by row, tied values sharing their mean rank: two (N, P) → (N,).

    >>> spearman(torch.tensor([[1.0, 2, 9]]), torch.tensor([[1.0, 3, 2]]))
    tensor([0.5000], dtype=torch.float64)
    """
    return pearson(_ranks(a), _ranks(b))


def _centred(values: Tensor) -> Tensor:
    values = values.detach().cpu().double()
    centred = values - values.mean(1, keepdim=True)
    # a constant row may miss its own mean by a rounding
    return centred.masked_fill((values == values[:, :1]).all(1, keepdim=True), 0.0)


def _ranks(values: Tensor) -> Tensor:
    return torch.from_numpy(rankdata(values.detach().cpu().numpy(), axis=1))
