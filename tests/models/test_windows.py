"""Swin's window attention against timm's own."""

import copy

import pytest
import torch
from timm.models.swin_transformer import SwinTransformer, SwinTransformerBlock, WindowAttention

from fer_lightning.models import Swin
from fer_lightning.models.layers import windows


def timm_backbone(image_size=48, **kwargs):
    return SwinTransformer(
        image_size, 2, 1, 0, embed_dim=36, depths=(2, 2, 2), num_heads=(3, 6, 12), **kwargs
    )


def drawn_weights(backbone):
    """Give every weight, biases of places too, values that matter."""
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in backbone.parameters():
            weight.add_(torch.randn_like(weight) / 5)
    return backbone


@pytest.mark.parametrize(("size", "window"), [(48, 6), (40, 5), (40, 6), (16, 4)])
def test_outputs_and_gradients_are_timms(size, window):
    theirs = drawn_weights(timm_backbone(size, window_size=window, drop_path_rate=0.0))
    ours = windows.quicken(copy.deepcopy(theirs))
    images = torch.rand(3, 1, size, size)
    expected, found = theirs(images), ours(images)
    assert torch.allclose(found, expected, atol=1e-5)
    ours_and_theirs = [
        torch.autograd.grad(output.square().sum(), list(model.parameters()))
        for output, model in ((found, ours), (expected, theirs))
    ]
    for one, other in zip(*ours_and_theirs, strict=True):
        assert torch.allclose(one, other, atol=1e-5 * max(1.0, other.abs().max().item()))


def test_the_attention_of_every_block_is_ours():
    kinds = [type(module) for module in Swin().modules()]
    assert kinds.count(windows.Block) == kinds.count(windows.Attention) == 6
    assert SwinTransformerBlock not in kinds
    assert WindowAttention not in kinds


def test_names_and_first_weights_are_timms():
    torch.manual_seed(0)
    ours = Swin().backbone.state_dict()
    torch.manual_seed(0)
    theirs = timm_backbone(window_size=6).state_dict()
    assert list(ours) == list(theirs)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("cut", [1, 4])
def test_gradients_by_differences(cut):
    generator = torch.Generator().manual_seed(0)
    qkv, bias = (
        torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((8, 4, 3, 2, 3), (2, cut, 4, 4))
    )
    mixed = windows._Mix.apply
    assert torch.allclose(mixed(qkv, bias, 0.5), windows._plain_mix(qkv, bias, 0.5))
    assert torch.autograd.gradcheck(lambda *x: mixed(*x, 0.5), (qkv, bias))
    assert torch.autograd.gradgradcheck(lambda *x: mixed(*x, 0.5), (qkv, bias))


def test_masked_places_have_no_weight_at_all():
    mask = next(m.attn_mask for m in Swin().modules() if getattr(m, "attn_mask", None) is not None)
    assert mask.exp().unique().tolist() == [0.0, 1.0]  # exp(-100) is no normal number: slow
