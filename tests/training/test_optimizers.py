"""Which parameter learns at which rate."""

import pytest
import torch

from fer_lightning.models import ViT, build
from fer_lightning.training.optimizers import make_optimizer, make_schedule


def rates(model, optimizer):
    """The learning rate and the weight decay of each parameter."""
    by_id = {
        id(p): (group["lr"], group["weight_decay"])
        for group in optimizer.param_groups
        for p in group["params"]
    }
    return {name: by_id[id(p)] for name, p in model.named_parameters() if id(p) in by_id}


def test_layer_decay_of_a_vit():
    model = ViT(dim=8, depth=2, heads=2)
    found = rates(model, make_optimizer(model, "adamw", lr=0.8, weight_decay=0.1, layer_decay=0.5))
    assert found.keys() == dict(model.named_parameters()).keys()
    assert found["pos_embed"] == found["embed.proj.weight"] == (0.1, 0.1)
    assert found["embed.proj.bias"] == (0.1, 0.0)
    assert found["blocks.0.attn.qkv.weight"] == (0.2, 0.1)
    assert found["blocks.1.attn.qkv.weight"] == (0.4, 0.1)
    assert found["norm.weight"] == (0.4, 0.0)
    assert found["head.weight"] == (0.8, 0.1)


@pytest.mark.parametrize(
    ("name", "first", "power"),
    [("resnet18", "conv1.weight", 9), ("deit_tiny_patch16_224", "patch_embed.proj.weight", 13)],
)
def test_layer_decay_of_a_backbone(name, first, power):
    model = build("timm", name=name)
    found = rates(model, make_optimizer(model, "sgd", lr=1.0, layer_decay=0.5))
    assert found[f"backbone.{first}"][0] == 0.5**power
    assert found["head.weight"][0] == 1.0


def test_the_schedule_scales_every_layer():
    model = ViT(dim=8, depth=1, heads=2)
    optimizer = make_optimizer(model, "sgd", lr=1.0, layer_decay=0.5)
    schedule = make_schedule(optimizer, "cosine", warmup=0, total=2)
    optimizer.step()
    schedule.step()  # half way down
    found = rates(model, optimizer)
    assert [found[n][0] for n in ("pos_embed", "norm.bias", "head.bias")] == [0.125, 0.25, 0.5]


@pytest.mark.parametrize("layer_decay", [1.0, 0.5])
def test_only_what_learns_is_given_to_the_optimizer(layer_decay):
    model = ViT(dim=8, depth=1, heads=2)
    model.embed.requires_grad_(False)
    found = rates(model, make_optimizer(model, weight_decay=0.1, layer_decay=layer_decay))
    assert dict(model.named_parameters()).keys() - found.keys() == {
        "embed.proj.weight",
        "embed.proj.bias",
    }
    assert torch.tensor([rate for rate, _ in found.values()]).min() > 0


def test_no_gpu_is_looked_for_on_a_cpu(monkeypatch):
    """The same step as torch's, without the search that it begins with."""
    model, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    other.load_state_dict(model.state_dict())
    optimizers = make_optimizer(model, "adam", lr=0.1), torch.optim.Adam(other.parameters(), lr=0.1)
    for optimizer, net in zip(optimizers, (model, other), strict=True):
        for weight in net.parameters():
            weight.grad = torch.ones_like(weight)
        optimizer.step()
    assert torch.equal(model.weight, other.weight)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: pytest.fail("looked"))
    optimizers[0].step()
