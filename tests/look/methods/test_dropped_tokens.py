"""Maps of models that drop tokens: heat lies on the patches that were left, and nowhere else."""

import pytest
import torch

from fer_lightning.look.methods.attention import (
    attention_relevance,
    attention_rollout,
    cls_attention,
)
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.models import ViT

# brightness of 3x3 patches of 2x2 pixels, in tenths; each image has its own order
TENTHS = torch.tensor(
    [
        [[1, 2, 9], [0, 8, 3], [6, 1, 5]],
        [[7, 0, 1], [5, 1, 2], [3, 9, 6]],
    ]
)
IMAGES = (TENTHS / 10).repeat_interleave(2, 1).repeat_interleave(2, 2)[:, None]


def brightest(n):
    """The n brightest patches of each image, (2, 3, 3)."""
    least = TENTHS.flatten(1).sort(1, descending=True).values[:, n - 1]
    return least[:, None, None] <= TENTHS


@pytest.fixture
def model():
    """Strong patches are bright ones, before the first layer and for [CLS].

    A patch's token is (brightness, 0.5, 0, 0), so its magnitude and the first channel of its
    LayerNorm grow with brightness. [CLS] asks for that channel, and values are the channels
    themselves. Positions and MLPs are zero. Four patches enter, two leave the third layer.
    """
    net = ViT(
        image_size=6,
        patch_size=2,
        dim=4,
        depth=4,
        heads=1,
        keep_patches=4,
        keep_rate=0.5,
        num_classes=2,
    ).eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
        net.embed.proj.weight[0] = 0.25  # the mean of four pixels
        net.embed.proj.bias[1] = 0.5
        for block in net.blocks:
            block.norm1.weight.fill_(1)
            block.norm2.weight.fill_(1)
            block.attn.qkv.bias[0] = 1  # every query asks for the first channel ...
            block.attn.qkv.weight[4, 0] = 1  # ... of the keys
            block.attn.qkv.weight[8:].copy_(torch.eye(4))
            block.attn.proj.weight.copy_(torch.eye(4))
        net.norm.weight.fill_(1)
        net.head.weight[0, 0] = 1
        net.head.weight[1, 1] = 1
    return net


def test_the_model_is_as_described(model):
    masks = model.kept_masks(IMAGES)
    assert list(masks) == ["patch pooling", "layer 3", "layer 4"]
    for mask, n in zip(masks.values(), (4, 2, 1), strict=True):
        assert torch.equal(mask, brightest(n))


@pytest.mark.parametrize(("layer", "left"), [(0, 4), (1, 4), (2, 4), (3, 2), (-1, 2)])
def test_attention_of_cls(model, layer, left):
    attention = cls_attention(model, IMAGES, layer)[:, 0]
    assert torch.equal(attention > 0, brightest(left))
    assert torch.equal(attention.flatten(1).argmax(1), TENTHS.flatten(1).argmax(1))


@pytest.mark.parametrize("residual", [0.0, 0.5])
def test_rollout_reaches_all_that_ever_took_part(model, residual):
    rollout = attention_rollout(model, IMAGES, residual)
    assert torch.equal(rollout > 0, brightest(4))
    assert torch.equal(rollout.flatten(1).topk(1).indices, TENTHS.flatten(1).topk(1).indices)


def test_rollout_is_the_product_over_the_tokens_of_each_layer(model):
    """By small matrices: four patches and [CLS] in three layers, two patches in the last."""
    maps = model.attention_maps(IMAGES)
    for i in range(2):
        places = [1 + p for p in brightest(4)[i].flatten().nonzero()[:, 0].tolist()]
        few = [1 + p for p in brightest(2)[i].flatten().nonzero()[:, 0].tolist()]
        row = torch.zeros(10)
        row[0] = 1
        for attention, tokens in zip(
            reversed(maps), ([0, *few], [0, *places], [0, *places], [0, *places]), strict=True
        ):
            small = attention[i, 0][tokens][:, tokens]
            assert torch.allclose(small.sum(1), torch.ones(len(tokens)))
            before, row = row, torch.zeros(10)
            row[tokens] = before[tokens] @ (0.5 * small + 0.5 * torch.eye(len(tokens)))
        found = attention_rollout(model, IMAGES)[i].flatten()
        assert torch.allclose(found, row[1:], atol=1e-6)


def test_relevance(model):
    relevance = attention_relevance(model, IMAGES, target=0)
    assert torch.equal(relevance > 0, relevance.bool() & brightest(4))
    assert torch.equal(relevance.flatten(1).argmax(1), TENTHS.flatten(1).argmax(1))


@pytest.mark.parametrize("method", ["grad_cam", "hires_cam"])
def test_cams_lie_on_the_two_patches_that_enter_the_last_layer(model, method):
    cam = grad_cam(model, IMAGES, target=0, method=method)
    assert model.cam_layer is model.canvas
    assert torch.equal(cam.signed.bool(), brightest(2))


@pytest.mark.parametrize("method", ["grad_cam", "hires_cam"])
def test_cams_read_the_last_layer_that_patches_enter(method):
    torch.manual_seed(0)
    model = ViT(image_size=6, patch_size=2, dim=4, depth=6, keep_patches=3, keep_rate=0.4).eval()
    masks = model.kept_masks(IMAGES)
    assert [int(mask[0].sum()) for mask in masks.values()] == [3, 1, 0]
    cam = grad_cam(model, IMAGES, method=method)
    assert torch.equal(cam.signed.bool(), masks["layer 4"])
    assert torch.allclose(cam.logits, model(IMAGES), atol=1e-6)
    assert cls_attention(model, IMAGES, layer=4).bool().any(1).equal(masks["layer 4"])
    assert not cls_attention(model, IMAGES).any()  # [CLS] is alone in the last layer


def test_mean_of_the_patches_that_are_left():
    torch.manual_seed(0)
    model = ViT(
        image_size=6, patch_size=2, dim=8, depth=2, keep_patches=3, pool="mean", num_classes=2
    ).eval()
    left = model.kept_masks(IMAGES)["patch pooling"]
    assert torch.equal(attention_rollout(model, IMAGES) > 0, left)
    assert torch.allclose(attention_rollout(model, IMAGES).sum((1, 2)), torch.ones(2))
    assert torch.allclose(cls_attention(model, IMAGES).sum((2, 3)), torch.ones(()))
    assert torch.equal(grad_cam(model, IMAGES, target=0).signed.bool(), left)
    assert not attention_relevance(model, IMAGES, target=0)[~left].any()


def test_the_model_is_left_as_found(model):
    model.train()
    pooling = model.pooling
    for look in (grad_cam, cls_attention, attention_rollout, attention_relevance):
        look(model, IMAGES)
    assert model.pooling == pooling
    assert all(module.training for module in model.modules())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert all(p.requires_grad and p.grad is None for p in model.parameters())
