"""``--model.compile=auto``: what is tried, what is chosen, and that nothing else changes."""

import pytest
import torch

from fer_lightning.models import build
from fer_lightning.training import compiled
from fer_lightning.training.compiled import Trial, try_compiled


@pytest.fixture
def net():
    torch.manual_seed(0)
    return build("cnn", image_size=16, widths=(4, 4, 4, 4)).train()


def state(net):
    return {name: value.clone() for name, value in net.state_dict().items()}


@pytest.mark.parametrize(
    ("plain", "after", "compiling", "pays"),
    [(1, 0.5, 40, True), (1, 0.5, 60, False), (1, 1.1, 0, False), (1, None, 0, False)],
)
def test_the_time_for_compiling_counts(plain, after, compiling, pays):
    assert Trial(100, plain, after, compiling).pays is pays


def test_a_trial_leaves_all_as_it_was(net, monkeypatch):
    before, random = state(net), torch.get_rng_state()
    times = iter([1.0, 0.5])  # a plain step, a compiled one
    fastest = compiled._fastest
    monkeypatch.setattr(compiled, "_fastest", lambda *args: (fastest(*args), next(times))[1])
    trial = try_compiled(net, [4, 2], [8], steps=10**6, backend="eager")
    assert trial.pays
    assert trial.compiling > 0
    assert net._compiled_call_impl is not None
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random)
    assert all(weight.grad is None for weight in net.parameters())
    assert all(module.training for module in net.modules())


def test_what_does_not_pay_is_undone(net, monkeypatch):
    times = iter([1.0, 2.0])
    monkeypatch.setattr(compiled, "_fastest", lambda *args: next(times))
    trial = try_compiled(net, [4], [8], steps=10**6, backend="eager")
    assert trial.sentence.startswith("Compiled: no, a step takes 2.00 of the time")
    assert net._compiled_call_impl is None
    assert net(torch.rand(2, 1, 16, 16)).shape == (2, 7)


def test_a_short_run_is_not_tried(net):
    trial = try_compiled(net, [4], [8], steps=3, backend="none such")
    assert trial.sentence == "Compiled: no, the run is too short for it"
    assert net._compiled_call_impl is None


def test_a_backend_that_fails_is_left_out(net):
    def fails(graph, inputs):
        raise RuntimeError("no compiler")

    trial = try_compiled(net, [4], [8], steps=10**9, backend=fails)
    assert not trial.pays
    assert trial.sentence.startswith("Compiled: no, it fails here (")
    assert net._compiled_call_impl is None
