"""Layers as timm counts them, for our models and for backbones."""

import pytest
import timm
from timm.optim import param_groups_layer_decay

from fer_lightning.models import build
from fer_lightning.models.layers.timm_layout import layer_order

CASES = {  # model, arguments, number of layers, the layer of some parameters
    "cnn": (
        "cnn",
        {},
        6,
        {"stages.conv1.bias": 0, "stages.norm2.weight": 1, "feature_layer.1.bias": 4},
    ),
    "vit": ("vit", {"depth": 3}, 5, {"cls_token": 0, "embed.proj.weight": 0, "norm.bias": 3}),
    "vit-mean": ("vit", {"depth": 1, "pool": "mean"}, 3, {"pos_embed": 0, "norm.bias": 1}),
    "small_resnet": ("small_resnet", {}, 8, {"stem.1.bias": 0, "blocks.5.norm1.bias": 6}),
    "hybrid_vit": (
        "hybrid_vit",
        {},
        9,
        {"stem.1.weight": 0, "embed.proj.weight": 4, "pos_embed": 4, "norm.bias": 7},
    ),
    "swin": ("swin", {}, 8, {"backbone.patch_embed.proj.bias": 0, "backbone.norm.bias": 6}),
    "resnet18": (
        "timm",
        {},
        10,
        {"backbone.bn1.weight": 0, "backbone.layer2.0.conv1.weight": 3},
    ),
    "deit": (
        "timm",
        {"name": "deit_tiny_patch16_224"},
        14,
        {"backbone.pos_embed": 0, "backbone.blocks.11.norm1.bias": 12, "backbone.norm.bias": 12},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_known_layers(case):
    name, arguments, count, known = CASES[case]
    model = build(name, **arguments)
    order = layer_order(model)
    assert order.keys() == dict(model.named_parameters()).keys()
    assert set(order.values()) == set(range(count))
    assert {name: order[name] for name in known} == known
    assert {n for n, layer in order.items() if layer == count - 1} == {"head.weight", "head.bias"}


@pytest.mark.parametrize("name", ["resnet18", "vit_tiny_patch16_224"])
def test_as_timm_scales_the_same_backbone(name):
    theirs = timm.create_model(name, num_classes=7, in_chans=1)
    scale = {
        id(p): group["lr_scale"]
        for group in param_groups_layer_decay(theirs, layer_decay=0.5)
        for p in group["params"]
    }
    order = layer_order(build("timm", name=name, image_size=224))
    for full, layer in order.items():
        if full.startswith("backbone."):
            found = scale[id(theirs.get_parameter(full.removeprefix("backbone.")))]
            assert found == 0.5 ** (max(order.values()) - layer), full
