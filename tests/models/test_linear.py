"""Linear layers as convolutions: where, and that they are the same."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fer_lightning.models import build
from fer_lightning.models.layers import linear as module
from fer_lightning.models.layers.linear import Linear, by_convolution, linear, quicken_linear

TRANSFORMERS = ("vit", "hybrid_vit", "apvit", "swin", "vit_tiny")


@pytest.fixture(params=[False, True], ids=["product", "convolution"])
def way(request, monkeypatch):
    monkeypatch.setattr(module, "convolutions_are_faster", lambda: request.param)
    return request.param


@pytest.mark.parametrize("shape", [(3, 65), (2, 6, 6), (1, 1), (5, 1)])
@pytest.mark.parametrize("has_bias", [True, False])
def test_a_convolution_is_the_linear_map_with_all_its_gradients(shape, has_bias):
    torch.manual_seed(0)
    x = torch.randn(*shape, 36, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(20, 36, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(20, dtype=torch.float64, requires_grad=True) if has_bias else None
    learns = [x, weight, *([] if bias is None else [bias])]
    found, expected = by_convolution(x, weight, bias), F.linear(x, weight, bias)
    assert found.shape == expected.shape
    assert found.is_contiguous()
    assert torch.allclose(found, expected)
    for one, other in zip(
        torch.autograd.grad(found.sin().sum(), learns),
        torch.autograd.grad(expected.sin().sum(), learns),
        strict=True,
    ):
        assert torch.allclose(one, other)


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (1, 1)])
def test_single_channels(before, after):
    x, weight = torch.rand(2, 5, before), torch.rand(after, before)
    assert torch.allclose(by_convolution(x, weight, None), F.linear(x, weight))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_models_answer_and_learn_alike(name, monkeypatch):
    torch.manual_seed(0)
    model = build(name).eval()
    images = torch.rand(model.input_shape(3))
    found = {}
    for faster in (False, True):
        monkeypatch.setattr(module, "convolutions_are_faster", lambda faster=faster: faster)
        logits = model(images)
        loss = F.cross_entropy(logits, torch.tensor([0, 3, 5]))
        found[faster] = (logits, *torch.autograd.grad(loss, list(model.parameters())))
    for one, other in zip(*found.values(), strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    assert not all(map(torch.equal, *found.values())), "both ways were one"


def test_a_model_of_timm_works_so_too_and_keeps_its_names():
    plain = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 2, bias=False), nn.GELU()))
    ours = copy.deepcopy(plain)
    quicken_linear(ours)
    assert [type(layer) for layer in (ours[0], ours[1][0], ours[1][1])] == [Linear, Linear, nn.GELU]
    assert list(ours.state_dict()) == list(plain.state_dict())
    assert type(build("timm", name="deit_tiny_patch16_224").backbone.blocks[0].mlp.fc1) is Linear


@pytest.mark.parametrize(
    "x",
    [
        torch.rand(5, 4),
        torch.rand(2, 3, 4, dtype=torch.float64),
        torch.rand(2, 4, 3).mT,
        torch.rand(1, 2, 3, 2, 4),
        torch.rand(2, 0, 4),
    ],
    ids=["vectors", "double", "elsewhere in memory", "five axes", "no tokens"],
)
def test_what_does_not_suit_stays_a_product(x, monkeypatch):
    monkeypatch.setattr(module, "convolutions_are_faster", lambda: True)
    monkeypatch.setattr(module, "by_convolution", None)  # a call would fail
    weight = torch.rand(3, 4, dtype=x.dtype)
    assert torch.equal(linear(x, weight, None), F.linear(x, weight))


def test_autocast_and_compilers_see_a_product(monkeypatch):
    monkeypatch.setattr(module, "convolutions_are_faster", lambda: True)
    monkeypatch.setattr(module, "by_convolution", None)
    layer, x = Linear(4, 3), torch.rand(2, 5, 4)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    assert torch.allclose(
        torch.jit.trace(layer, x, check_trace=False)(x), F.linear(x, layer.weight, layer.bias)
    )
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert layer(x).shape == (2, 5, 3)


def test_tokens_take_the_chosen_way(way, monkeypatch):
    called = []
    monkeypatch.setattr(module, "by_convolution", lambda *a: called.append(a) or by_convolution(*a))
    assert Linear(4, 3)(torch.rand(2, 5, 4)).shape == (2, 5, 3)
    assert len(called) == way


@pytest.mark.parametrize(
    ("text", "capability", "faster"),
    [
        ("processor\t: 0\nvendor_id\t: AuthenticAMD\n", "AVX512", True),
        ("vendor_id\t: AuthenticAMD\n", "AVX2", False),
        ("vendor_id\t: GenuineIntel\n", "AVX512", False),
        ("", "AVX512", False),
        (None, "AVX512", False),
    ],
)
def test_which_processors(text, capability, faster, tmp_path, monkeypatch):
    place = tmp_path / "cpuinfo"
    if text is not None:
        place.write_text(text)
    monkeypatch.setattr(module, "PROCESSOR", place)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert module.convolutions_are_faster.__wrapped__() is faster
