import numpy as np
import pytest
import torch
from lightning.fabric.utilities import move_data_to_device

from fer_lightning.data.batches import EvalBatches, Part, TrainBatches
from fer_lightning.data.faces import drawn_faces


@pytest.mark.parametrize("size", [1, 7, 64, 129, 1000])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_evaluation_sees_each_image_once_with_equally_many_batches(size, world):
    ranks = [EvalBatches(size, 64, rank, world) for rank in range(world)]
    seen = [i for rank in ranks for batch in rank for i in batch]
    assert sorted(seen) == list(range(size))
    assert len({len(list(rank)) for rank in ranks}) == 1
    assert all(len(batch) <= 64 for rank in ranks for batch in rank)
    assert all(len(list(rank)) == len(rank) for rank in ranks)


@pytest.mark.parametrize("world", [1, 2, 3])
def test_training_pads_by_less_than_the_number_of_ranks(world):
    ranks = [TrainBatches(100, 16, 5, rank, world) for rank in range(world)]
    seen = [i for rank in ranks for batch in rank for i in batch]
    assert set(seen) == set(range(100))
    assert len(seen) - 100 < world
    assert len({len(list(rank)) for rank in ranks}) == 1


def test_order_changes_with_epoch_and_seed_only():
    def order(seed, epoch):
        batches = TrainBatches(50, 8, seed)
        batches.set_epoch(epoch)
        return list(batches)

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_a_batch_is_moved_with_all_that_it_has():
    part = Part(drawn_faces(20, with_masks=False), np.arange(4))
    batch = part.__getitems__([0, 2])
    assert batch.to(torch.device("cpu")) is batch
    moved = move_data_to_device(batch, "meta")  # Lightning's, which finds `to`
    assert [None if t is None else t.device.type for t in moved] == [*["meta"] * 3, None, None]
