"""All predictions of a pass over the data, gathered from every rank and ordered by image."""

from typing import NamedTuple

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat


class Predictions(NamedTuple):
    """Place i of each tensor belongs to the same image; they are sorted by `row`."""

    row: Tensor  # (N,) of the image in its ImageSet
    label: Tensor  # (N,)
    logits: Tensor  # (N, K)


class GatherPredictions(Metric):
    """Collects logits by image, the same on one process and on many.

    >>> gather = GatherPredictions()
    >>> gather.update(torch.tensor([4, 2]), torch.tensor([1, 0]), torch.tensor([[0.1], [0.2]]))
    >>> gather.compute().row.tolist()
    [2, 4]
    """

    full_state_update = False
    row: list[Tensor]
    label: list[Tensor]
    logits: list[Tensor]

    def __init__(self) -> None:
        super().__init__()
        for name in Predictions._fields:
            self.add_state(name, default=[], dist_reduce_fx="cat")

    def update(self, row: Tensor, label: Tensor, logits: Tensor) -> None:
        """Add a batch; nothing is moved or synchronised."""
        self.row.append(row)
        self.label.append(label)
        self.logits.append(logits.detach().float())

    def compute(self) -> Predictions:
        """Return everything, one row per image."""
        row, label, logits = map(dim_zero_cat, (self.row, self.label, self.logits))
        order = torch.argsort(row)
        return Predictions(row[order], label[order], logits[order])
