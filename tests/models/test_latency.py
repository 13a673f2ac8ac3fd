"""Speed and memory of a model: plausible, on the right batch, without side effects."""

import time

import pytest
import torch

from fer_lightning.models import CNN
from fer_lightning.models.cost import LEAST, MOST, WARM_UP, latencies, measure_cost, peak_memory


class Slow(CNN):
    """Takes as many milliseconds as there are images, so that its latency is known."""

    def __init__(self, num_classes=7, in_chans=1, image_size=16):
        super().__init__(num_classes, in_chans, image_size, widths=(4, 4, 4, 4))
        self.batches = []

    def forward(self, x):
        self.batches.append(len(x))
        assert not self.training
        assert not torch.is_grad_enabled()
        time.sleep(len(x) / 1000)
        return super().forward(x)


def test_latency_is_the_time_of_a_pass():
    model = Slow()
    cost = measure_cost(model)
    assert cost["latency_ms_1"] >= 1
    assert cost["latency_ms_64"] >= 64
    assert set(model.batches) == {1, 64}
    assert cost["latency_passes"]["64"] == model.batches.count(64) - WARM_UP
    assert cost["device"] == "cpu"
    assert cost["threads"] == torch.get_num_threads()


def test_a_slow_model_is_timed_few_times_and_a_quick_one_not_too_often():
    assert len(latencies(Slow(), 120)) == LEAST
    assert LEAST <= len(latencies(CNN(image_size=8, widths=(2, 2, 2, 2)), 1)) <= MOST


def test_the_mode_comes_back_also_after_an_error():
    class Breaks(Slow):
        def forward(self, x):
            raise RuntimeError("no")

    model = Breaks().train()
    model.head.eval()
    with pytest.raises(RuntimeError, match="no"):
        latencies(model, 1)
    assert model.training
    assert not model.head.training


def test_peak_memory_grows_with_what_is_held():
    before = peak_memory(torch.device("cpu"))
    held = torch.ones(before // 4 + 50_000_000)  # larger than everything so far, in bytes
    assert peak_memory(torch.device("cpu")) >= before + 4 * 10_000_000
    del held
