"""Attentive token pooling inside timm's DeiT."""

from itertools import pairwise

import pytest
import torch

from fer_lightning.errors import UserError
from fer_lightning.look.methods.attention import attention_rollout
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.models import Timm, describe, rebuild
from fer_lightning.models.cost import count_multiply_adds, count_parameters
from fer_lightning.models.layers.pooling import AttentivePooling

DEIT = {"name": "deit_tiny_patch16_224", "image_size": 96}  # 6x6 patches
IMAGES = torch.rand(3, 1, 96, 96, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Timm(**DEIT, keep_rate=0.5).eval()


def test_half_of_the_tokens_go_in_each_layer_of_the_second_half(model):
    masks = model.kept_masks(IMAGES)
    assert list(masks) == [f"layer {i}" for i in range(7, 13)]
    assert [int(mask[0].sum()) for mask in masks.values()] == [18, 9, 4, 2, 1, 0]
    stages = list(masks.values())
    assert all((after <= before).all() for before, after in pairwise(stages))


def test_no_parameter_is_added_and_keeping_all_is_timms_own_way(model):
    plain = Timm(**DEIT).eval()
    assert list(plain.state_dict()) == list(model.state_dict())
    assert count_parameters(plain) == count_parameters(model)
    plain.load_state_dict(model.state_dict())
    before = model.pooling
    model.pooling = AttentivePooling(keep_rate=1.0)
    try:
        assert torch.allclose(model(IMAGES), plain(IMAGES), atol=1e-5)
        assert torch.allclose(model.attend(IMAGES)[0], plain(IMAGES), atol=1e-5)
    finally:
        model.pooling = before
    assert not torch.allclose(model(IMAGES), plain(IMAGES), atol=1e-5)


def test_maps_lie_on_what_is_left(model):
    masks = model.kept_masks(IMAGES)
    assert model.cam_layer is model.canvas
    assert torch.equal(grad_cam(model, IMAGES).signed.bool(), masks["layer 11"])
    assert attention_rollout(model, IMAGES).all()  # the first layers see all


def test_one_layers_choice_by_hand(model):
    """[CLS]'s query times the keys, before the softmax, summed over heads, as timm's own names."""
    block, seen = model.backbone.blocks[6], []
    handle = block.norm1.register_forward_hook(lambda *args: seen.append(args[2]))
    masks = model.kept_masks(IMAGES)
    handle.remove()
    q, k, _ = block.attn.qkv(seen[0]).chunk(3, -1)
    scores = (q[:, :1] * k[:, 1:]).sum(-1)  # over all heads' channels at once
    for score, mask in zip(scores, masks["layer 7"], strict=True):
        assert set(score.topk(18).indices.tolist()) == set(mask.flatten().nonzero()[:, 0].tolist())


def test_description_keeps_the_rate(model):
    assert rebuild(describe(model)).pooling == AttentivePooling(keep_rate=0.5)


def test_cost_of_the_source():
    """DeiT-Tiny at 224 pixels: 1.26 and, at r=0.8, 0.96 GFLOPs in the source's table.

    Products alone are 1.254 and 0.957; five for each number of a LayerNorm would add 0.005.
    """
    arguments = {"name": "deit_tiny_patch16_224", "image_size": 224, "in_chans": 3}
    with torch.device("meta"):
        plain = Timm(num_classes=1000, **arguments)
        pooled = Timm(num_classes=1000, **arguments, keep_rate=0.8)
    before, after = (count_multiply_adds(m, complete=True) / 1e9 for m in (plain, pooled))
    assert (before, after) == pytest.approx((1.2537, 0.9565), abs=1e-4)
    assert after / before == pytest.approx(0.96 / 1.26, abs=0.005)


@pytest.mark.parametrize(
    "name",
    ["resnet18", "test_vit2", "deit_tiny_distilled_patch16_224", "swin_tiny_patch4_window7_224"],
)
def test_other_backbones_cannot(name):
    with pytest.raises(UserError, match=f"plain vision transformer .* but got {name}"):
        Timm(name=name, image_size=64, keep_rate=0.8)


@pytest.mark.parametrize("rate", [0.0, 1.5, -1])
def test_bad_rate(rate):
    with pytest.raises(UserError, match="keep_rate above 0 and at most 1"):
        Timm(**DEIT, keep_rate=rate)
