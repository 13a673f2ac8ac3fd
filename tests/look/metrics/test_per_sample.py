import pickle
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.multiprocessing.spawn import start_processes
from torchmetrics import MetricCollection

from fer_lightning.errors import UserError
from fer_lightning.look.metrics import (
    LocalFocusRatio,
    LocalSensitivityIndex,
    MassRatio,
    PerSampleMetric,
)

# Places of images in a data set of 60, dealt out unevenly to two processes. Image 23 was handed out
# twice to fill up a batch; in the second round one process gets nothing.
ROUNDS = [([40, 3, 17, 23, 8], [23, 51, 4, 33, 9, 12, 28]), ([4, 30, 5], [])]


class Plain(PerSampleMetric):
    def update(self, values: torch.Tensor, ids: torch.Tensor | None = None) -> None:
        self.add(values, ids)


def focus(places: list[int], heat: torch.Tensor, own: torch.Tensor) -> dict[str, dict]:
    """Two metrics of some images, in batches of two."""
    metrics = (LocalFocusRatio(), LocalSensitivityIndex())
    for batch in torch.tensor(places, dtype=torch.long).split(2) if places else ():
        for metric in metrics:
            metric.update(heat[batch], own[batch], ids=batch)
    return {type(metric).__name__: metric.compute() for metric in metrics}


def worker(rank: int, folder: str, heat: torch.Tensor, own: torch.Tensor) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    results = [focus(parts[rank], heat, own) for parts in ROUNDS]
    torch.save(results, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.filterwarnings("ignore:The ``compute`` method")  # of the process with nothing
def test_two_processes_give_the_result_of_one(tmp_path: Path, heat, own_regions) -> None:
    # A fork server imports torch once for both.
    multiprocessing.set_forkserver_preload(["fer_lightning.look.metrics"])
    args = (str(tmp_path), heat, own_regions)
    start_processes(worker, args, nprocs=2, start_method="forkserver")

    alone = [focus(sorted({*one, *other}), heat, own_regions) for one, other in ROUNDS]
    assert alone[0]["LocalFocusRatio"]["ids"].tolist() == [3, 4, 8, 9, 12, 17, 23, 28, 33, 40, 51]
    assert alone[0]["LocalFocusRatio"]["zero_maps"].tolist() == [2, 2, 2]  # maps 4 and 17
    for rank in range(2):
        together = torch.load(tmp_path / f"{rank}.pt", weights_only=True)
        for expected, found in zip(alone, together, strict=True):
            for metric in expected:
                for name, value in expected[metric].items():
                    same = torch.allclose(found[metric][name], value, rtol=1e-12, equal_nan=True)
                    assert same, (rank, metric, name)


def test_ids_sort_and_count_an_image_once() -> None:
    metric = Plain()
    metric.update(torch.tensor([[3.0, 30.0], [1.0, 10.0]]), torch.tensor([3, 1]))
    metric.update(torch.tensor([[2.0, 20.0], [1.0, 10.0]]), torch.tensor([2, 1]))
    result = metric.compute()
    assert result["ids"].tolist() == [1, 2, 3]
    assert result["values"].tolist() == [[1, 10], [2, 20], [3, 30]]
    assert result["mean"].tolist() == [2, 20]


def test_without_ids_every_value_counts_in_its_order() -> None:
    metric = Plain()
    metric.update(torch.tensor([3.0, 1.0]))
    metric.update(torch.tensor([1.0]))
    result = metric.compute()
    assert result["values"].tolist() == [3, 1, 1]
    assert result["ids"].tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    "ids",
    [torch.tensor([1]), torch.tensor([0.0, 1.0]), torch.tensor([-1, 2]), torch.tensor([1, 2**60])],
)
def test_ids_that_do_not_fit_are_refused(ids: torch.Tensor) -> None:
    with pytest.raises(UserError, match="2 whole-number ids"):
        Plain().update(torch.tensor([1.0, 2.0]), ids)


def test_another_number_of_regions_is_refused() -> None:
    metric = Plain()
    metric.update(torch.ones(2, 3))
    with pytest.raises(UserError, match=r"expected 3 regions.*got 2"):
        metric.update(torch.ones(2, 2))


def test_compute_before_update_is_refused() -> None:
    with (
        pytest.warns(UserWarning, match="before the ``update``"),
        pytest.raises(UserError, match="at least one map"),
    ):
        Plain().compute()


def test_forward_gives_the_batch_and_keeps_all(heat, regions) -> None:
    metric = LocalFocusRatio()
    first = metric(heat[:4], regions)
    second = metric(heat[4:10], regions)
    assert (len(first["values"]), len(second["values"])) == (4, 6)
    assert len(metric.compute()["values"]) == 10
    metric(heat[:1], regions[0])
    with pytest.raises(UserError, match="regions in every update"):
        metric.compute()


def test_a_collection_keeps_metrics_apart_that_start_equal(regions) -> None:
    # LFR and mass ratio agree on a uniform map and on nothing else.
    both = MetricCollection([LocalFocusRatio(), MassRatio()])
    key = regions.any(0)
    both.update(torch.ones(2, 48, 48), key)
    both.update(key[None].float(), key)
    result = both.compute()
    assert result["LocalFocusRatio_values"][2] > 1e7
    assert result["MassRatio_values"][2] < 10


def test_survives_copying(heat, regions) -> None:
    metric = LocalFocusRatio(log_floor=0.1)
    metric.update(heat, regions)
    copy = pickle.loads(pickle.dumps(metric))
    assert copy.log_floor == 0.1
    assert torch.equal(copy.compute()["mean"], metric.compute()["mean"])
