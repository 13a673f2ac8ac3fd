"""APViT at 112x112 against the checksums of its authors' code."""

import pytest
import torch
from torch import nn

from fer_lightning.models import APViT112
from fer_lightning.models.cost import count_flops, count_multiply_adds, count_parameters
from fer_lightning.models.layers.pooling import AttentivePooling


@pytest.fixture(scope="module")
def model():
    with torch.device("meta"):  # takes no memory and computes nothing
        return APViT112().eval()


def stem_extras(model):
    """What the checksums count beside products: 2 for each number of a BatchNorm, 1 of a PReLU."""
    total = 0

    def count(module, _args, output):
        nonlocal total
        total += output.numel() * (2 if isinstance(module, nn.BatchNorm2d) else 1)

    kinds = (nn.BatchNorm2d, nn.PReLU)
    handles = [m.register_forward_hook(count) for m in model.modules() if isinstance(m, kinds)]
    model.stem(torch.zeros(1, 3, 112, 112, device="meta"))
    for handle in handles:
        handle.remove()
    return total


def test_parameters(model):
    assert count_parameters(model) == 65_209_543
    assert model.grid == (14, 14)
    assert model.stem(torch.zeros(1, 3, 112, 112, device="meta")).shape == (1, 256, 14, 14)


@pytest.mark.parametrize(
    ("k", "r", "giga"),
    [
        (None, 1.0, 15.293),
        (160, 1.0, 13.436),
        (160, 0.9, 12.661),
        (10, 0.6, 5.89),  # ends with [CLS] alone; from the paper, as the next
        (80, 0.6, 0.5407 * 15.293),
    ],
)
def test_multiply_adds(model, k, r, giga):
    model.pooling = AttentivePooling(k, r)
    found = (count_multiply_adds(model, complete=True) + stem_extras(model)) / 1e9
    assert found == pytest.approx(giga, abs=0.0006 if giga > 10 else 0.006)


def test_unread_tokens_of_the_last_layer_are_not_computed(model):
    model.pooling = AttentivePooling(160, 0.9)
    assert count_flops(model) < 0.97 * count_flops(model, complete=True)


def test_details(model):
    assert all(block.attn.qkv.bias is None for block in model.blocks)
    norms = [m for m in model.modules() if isinstance(m, nn.LayerNorm)]
    assert {norm.eps for norm in norms} == {1e-6}
    assert [sum(b.stride == 2 for b in model.stem.body), len(model.stem.body)] == [3, 21]


def test_names_are_those_of_published_weights(model):
    names = model.stem.state_dict()
    assert names["body.20.res_layer.3.weight"].shape == (256, 256, 3, 3)
    assert names["body.3.shortcut_layer.0.weight"].shape == (128, 64, 1, 1)
    assert names["input_layer.2.weight"].shape == (64,)
    assert not any(name.startswith("body.1.shortcut") for name in names)


def test_head_starts_at_zero():
    small = APViT112(image_size=32, keep_patches=9, units=(1, 1, 1), dim=32, depth=2)
    assert not small(torch.rand(2, 3, 32, 32)).any()
