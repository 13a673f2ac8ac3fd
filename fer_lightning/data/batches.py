"""From rows of an `ImageSet` to batches: the dataset and the two batch samplers."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.splits import Rows


class Batch(NamedTuple):
    """Images with what is known of them; `row` is each image's place in the `ImageSet`."""

    image: Tensor  # (B, C, H, W), uint8 from the loader, float in [0, 1] for the model
    label: Tensor  # (B,) int64
    row: Tensor  # (B,) int64
    soft: Tensor | None = None  # (B, K) float32 label distributions
    mask: Tensor | None = None  # (B, H, W) of a region: uint8, then float with the image

    def to(self, device: torch.device) -> "Batch":
        """Move it; Lightning calls this instead of walking through the fields."""
        if self.image.device == device:
            return self
        ahead = device.type not in ("cpu", "mps")  # as Lightning does with tensors
        moved = [None if t is None else t.to(device, non_blocking=ahead) for t in self]
        return Batch._make(moved)


class Part(Dataset[Batch]):
    """One part of a split, indexed by whole batches.

    Pictures are taken out of the data set batch by batch: nothing is held twice, and of a data set
    in a file nothing but what the system keeps of it.

    >>> from fer_lightning.data.faces import drawn_faces
    >>> part = Part(drawn_faces(20, with_masks=False), np.array([3, 5, 8]))
    >>> batch = part.__getitems__([2, 0])
    >>> batch.image.shape, batch.row.tolist()
    (torch.Size([2, 1, 48, 48]), [8, 3])
    """

    def __init__(self, data: ImageSet, rows: Rows) -> None:
        self.images, self.rows = data.images, rows
        self.label = torch.from_numpy(data.labels[rows])
        self.row = torch.from_numpy(rows)
        self.soft = None if data.soft is None else torch.from_numpy(data.soft[rows])
        self.mask: Tensor | None = None  # (N, H, W) uint8, where a loss asks for it

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, place: int) -> Batch:
        return self.__getitems__([place])

    def __getitems__(self, places: list[int]) -> Batch:
        at = torch.tensor(places)
        image = torch.from_numpy(self.images[self.rows[places]])
        label, row = (t.index_select(0, at) for t in (self.label, self.row))
        soft, mask = (None if t is None else t[at] for t in (self.soft, self.mask))
        return Batch(image, label, row, soft, mask)


class TrainBatches(Sampler[list[int]]):
    """Shuffled batches as a pure function of (seed, epoch); ranks share the epoch evenly.

    With several ranks the order is padded from its own beginning by at most ``world_size - 1``.

    >>> first, again = TrainBatches(10, 4, seed=1), TrainBatches(10, 4, seed=1)
    >>> first.set_epoch(3); again.set_epoch(3)
    >>> list(first) == list(again), sorted(sum(first, [])) == list(range(10)), len(first)
    (True, True, 3)
    """

    def __init__(
        self, size: int, batch_size: int, seed: int, rank: int = 0, world_size: int = 1
    ) -> None:
        self.size, self.batch_size, self.seed = size, batch_size, seed
        self.rank, self.world_size = rank, world_size
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order comes next; Lightning calls this."""
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-self._per_rank // self.batch_size)

    @property
    def _per_rank(self) -> int:
        return -(-self.size // self.world_size)

    def __iter__(self) -> Iterator[list[int]]:
        order = np.random.default_rng((self.seed, self.epoch)).permutation(self.size)
        mine = np.resize(order, self._per_rank * self.world_size)[self.rank :: self.world_size]
        for start in range(0, len(mine), self.batch_size):
            yield mine[start : start + self.batch_size].tolist()


class EvalBatches(Sampler[list[int]]):
    """Every image exactly once over all ranks, in order, with equally many batches on each rank.

    Equal numbers matter: a model with BatchNorm buffers synchronises them in each forward pass
    under DDP, so that a rank with one batch more would wait forever.

    >>> [list(EvalBatches(5, 2, rank, world_size=2)) for rank in (0, 1)]
    [[[0, 2], [4]], [[1], [3]]]
    """

    def __init__(self, size: int, batch_size: int, rank: int = 0, world_size: int = 1) -> None:
        self.size, self.batch_size = size, batch_size
        self.rank, self.world_size = rank, world_size

    def __len__(self) -> int:
        return -(-self.size // (self.batch_size * self.world_size))

    def __iter__(self) -> Iterator[list[int]]:
        mine = np.arange(self.rank, self.size, self.world_size)
        for chunk in np.array_split(mine, len(self)):
            yield chunk.tolist()
