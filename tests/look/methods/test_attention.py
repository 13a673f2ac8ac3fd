"""Attention of [CLS], rollout and relevance: by hand on two tokens, on models, bad input."""

import pytest
import torch
from torch import nn

from fer_lightning.errors import UserError
from fer_lightning.look.methods.attention import (
    NoAttentionError,
    attention_relevance,
    attention_rollout,
    cls_attention,
)
from fer_lightning.models import CNN, Swin, Timm, VisionModel, ViT

IMAGES = torch.rand(3, 1, 48, 48, generator=torch.Generator().manual_seed(0))


class TwoTokens(VisionModel):
    """Two layers of given attention over two tokens, which hold the two pixels of an image.

    Args:
        prefix: 1: the first token is [CLS] and the grid is 1x1; 0: both are patches, 1x2.
    """

    FIRST = torch.tensor([[0.8, 0.2], [0.5, 0.5]])
    LAST = torch.tensor([[0.4, 0.6], [0.1, 0.9]])

    def __init__(self, num_classes=2, in_chans=1, image_size=2, prefix=1):
        super().__init__()
        self.num_prefix_tokens = prefix
        self.head = nn.Identity()

    def features(self, x):
        return self.attend(x)[0]

    def attend(self, x):
        tokens = x.flatten(1)  # B, 2
        maps = []
        for attention in (self.FIRST, self.LAST):
            # two heads: the one given, and one that mirrors the tokens of its row
            both = torch.stack([attention, attention.flip(1)]) + 0 * tokens.sum()
            maps.append(both.expand(len(x), -1, -1, -1))
            tokens = torch.einsum("bhqk,bk->bq", maps[-1], tokens) / 2
        return torch.stack([tokens[:, 0], -tokens[:, 0]], dim=1), maps

    @property
    def cam_layer(self):
        return self.head

    def to_grid(self, activation):
        return activation[:, self.num_prefix_tokens :].transpose(1, 2)[:, :, None]


PIXELS = torch.tensor([[[[1.0, 3.0]]]])


def test_the_row_of_cls_by_hand():
    attention = cls_attention(TwoTokens(), PIXELS)
    assert attention.shape == (1, 2, 1, 1)
    assert torch.allclose(attention.flatten(), torch.tensor([0.6, 0.4]))  # of both heads
    first = cls_attention(TwoTokens(), PIXELS, layer=0)
    assert torch.allclose(first.flatten(), torch.tensor([0.2, 0.8]))


def test_without_cls_the_mean_row_is_read():
    attention = cls_attention(TwoTokens(prefix=0), PIXELS)
    expected = torch.tensor([[(0.4 + 0.1) / 2, (0.6 + 0.9) / 2], [(0.6 + 0.9) / 2, 0.25]])
    assert torch.allclose(attention[0, :, 0], expected)


@pytest.mark.parametrize("prefix", [0, 1])
@pytest.mark.parametrize("fusion", ["mean", "max", "min"])
def test_rollout_by_hand(fusion, prefix):
    def fuse(attention):
        heads = torch.stack([attention, attention.flip(1)])
        fused = {"mean": heads.mean(0), "max": heads.amax(0), "min": heads.amin(0)}[fusion]
        mixed = 0.5 * fused + 0.5 * torch.eye(2)
        return mixed / mixed.sum(1, keepdim=True)

    product = fuse(TwoTokens.LAST) @ fuse(TwoTokens.FIRST)
    found = attention_rollout(TwoTokens(prefix=prefix), PIXELS, fusion=fusion).flatten()
    expected = product[0, 1:] if prefix else product.mean(0)
    assert torch.allclose(found, expected)


def test_rollout_in_numbers():
    """With mean fusion every fused row is (0.5, 0.5), mixed rows (0.75, 0.25) and (0.25, 0.75)."""
    found = attention_rollout(TwoTokens(), PIXELS)
    assert torch.allclose(found, torch.tensor([[[0.75 * 0.25 + 0.25 * 0.75]]]))


def test_relevance_by_hand():
    # [CLS] = mean over heads of the last row 0 times t, t = first layer's output, (2, 2) here:
    # both heads and their mirrors give the mean pixel 2 to each token. d logit / d last[0, k] =
    # t_k / 2 = 1, of row 1: 0. Weighed mean over heads: row 0 (0.5, 0.5), row 1 (0, 0).
    # d logit / d first[q, k] = (mean weight 0.5 of q) * pixel_k / 2 = (0.25, 0.75).
    # weighed: mean over heads of attention * gradient: (0.5 * 0.25, 0.5 * 0.75) in both rows.
    last = torch.tensor([[0.5, 0.5], [0.0, 0.0]])
    first = torch.tensor([[0.125, 0.375], [0.125, 0.375]])
    relevance = (torch.eye(2) + last) @ (torch.eye(2) + first)
    found = attention_relevance(TwoTokens(), PIXELS, target=0)
    assert torch.allclose(found.flatten(), relevance[0, 1:])
    # class 1 is the negative of class 0: nothing speaks for it
    assert not attention_relevance(TwoTokens(), PIXELS, target=1).any()
    assert torch.equal(found, attention_relevance(TwoTokens(), PIXELS))  # class 0 is predicted


def test_relevance_without_cls_leaves_the_identity_out():
    found = attention_relevance(TwoTokens(prefix=0), PIXELS, target=1)
    assert not found.any()


@pytest.fixture(scope="module", params=["vit", "vit-mean", "timm"])
def model(request):
    torch.manual_seed(0)
    if request.param == "timm":
        return Timm(name="test_vit")
    return ViT(depth=3, pool="mean" if request.param == "vit-mean" else "cls")


def test_rows_of_a_model_are_those_of_its_maps(model):
    maps = [a.detach() for a in model.eval().attention_maps(IMAGES)]
    prefix = model.num_prefix_tokens
    rows = maps[1][:, :, 0, 1:] if prefix else maps[1].mean(2)
    found = cls_attention(model, IMAGES, layer=1, batch_size=2)
    assert torch.allclose(found.flatten(2), rows, atol=1e-6)


def test_rollout_of_a_model_is_the_product_of_its_layers(model):
    maps = model.eval().attention_maps(IMAGES)
    product = torch.eye(maps[0].shape[-1])
    for attention in maps:
        product = (0.5 * attention.mean(1) + 0.5 * torch.eye(attention.shape[-1])) @ product
    rows = product[:, 0, 1:] if model.num_prefix_tokens else product.mean(1)
    found = attention_rollout(model, IMAGES, batch_size=2)
    assert torch.allclose(found.flatten(1), rows, atol=1e-6)
    if not model.num_prefix_tokens:
        assert torch.allclose(found.sum((1, 2)), torch.ones(3))


def test_relevance_of_a_model_is_the_product_of_its_layers(model):
    logits, maps = model.eval().attend(IMAGES)
    slopes = torch.autograd.grad(logits[:, 2].sum(), maps)
    eye = torch.eye(maps[0].shape[-1])
    product = eye
    for attention, slope in zip(maps, slopes, strict=True):
        product = product + (attention * slope).clamp(min=0).mean(1) @ product
    rows = product[:, 0, 1:] if model.num_prefix_tokens else (product - eye).mean(1)
    found = attention_relevance(model, IMAGES, target=2, batch_size=2)
    assert torch.allclose(found.flatten(1), rows.detach(), atol=1e-7)
    assert (found.amax((1, 2)) > 0).all()


@pytest.mark.parametrize("method", [cls_attention, attention_rollout, attention_relevance])
@pytest.mark.parametrize("around", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_the_model_is_as_it_was(model, method, around):
    model.train()
    state = {key: value.clone() for key, value in model.state_dict().items()}
    with around():
        found = method(model, IMAGES + 0)
    assert torch.equal(found, method(model.eval(), IMAGES))
    assert not found.requires_grad
    model.train()
    method(model, IMAGES)
    assert all(module.training for module in model.modules())
    assert all(p.requires_grad and p.grad is None for p in model.parameters())
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


@pytest.mark.parametrize("method", [cls_attention, attention_rollout, attention_relevance])
@pytest.mark.parametrize("kind", [CNN, Swin])
def test_a_model_without_attention(method, kind):
    model = kind()
    with pytest.raises(NoAttentionError, match=f"expected .* attention but got {kind.__name__}"):
        method(model, IMAGES)
    assert model.training


@pytest.mark.parametrize("layer", [4, -5])
def test_a_layer_that_is_not_there(layer):
    with pytest.raises(UserError, match=f"layer from -4 to 3 but got {layer}"):
        cls_attention(ViT(), IMAGES, layer)


def test_bad_mixing():
    with pytest.raises(UserError, match="residual from 0 to 1"):
        attention_rollout(ViT(), IMAGES, residual=1.5)
    with pytest.raises(UserError, match=r"'max' or 'min' but got .* and 'sum'"):
        attention_rollout(ViT(), IMAGES, fusion="sum")


class Pruned(TwoTokens):
    def attend(self, x):
        logits, maps = super().attend(x)
        return logits, [maps[0], maps[1][:, :, :1, :1]]


def test_layers_over_different_tokens():
    with pytest.raises(NoAttentionError, match=r"same tokens but got \[2, 1\] tokens"):
        attention_rollout(Pruned(), PIXELS)
