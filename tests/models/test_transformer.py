"""Parts of the vision transformer against torch's own."""

import pytest
import torch
from torch import nn

from fer_lightning.models import ViT
from fer_lightning.models.layers.transformer import Attention, Block, DropPath, PatchEmbed, mix


def test_patch_embedding_is_a_strided_convolution():
    embed = PatchEmbed(12, 4, 3, 8)
    conv = nn.Conv2d(3, 8, 4, stride=4)
    with torch.no_grad():
        conv.weight.copy_(embed.proj.weight.view(8, 3, 4, 4))
        conv.bias.copy_(embed.proj.bias)
    images = torch.rand(2, 3, 12, 12)
    expected = conv(images).flatten(2).transpose(1, 2)
    assert torch.allclose(embed(images), expected, atol=1e-6)


def reference_block(block, dim, heads):
    """torch's own layer with the same weights."""
    layer = nn.TransformerEncoderLayer(
        dim, heads, 4 * dim, 0.0, activation="gelu", batch_first=True, norm_first=True
    )
    pairs = {
        layer.self_attn.in_proj_weight: block.attn.qkv.weight,
        layer.self_attn.in_proj_bias: block.attn.qkv.bias,
        layer.self_attn.out_proj.weight: block.attn.proj.weight,
        layer.self_attn.out_proj.bias: block.attn.proj.bias,
        layer.linear1.weight: block.mlp[0].weight,
        layer.linear1.bias: block.mlp[0].bias,
        layer.linear2.weight: block.mlp[3].weight,
        layer.linear2.bias: block.mlp[3].bias,
    }
    with torch.no_grad():
        for theirs, ours in pairs.items():
            theirs.copy_(ours)
    return layer


def test_block_equals_torchs_layer():
    torch.manual_seed(0)
    block, tokens = Block(16, 4), torch.randn(2, 5, 16)
    expected = reference_block(block, 16, 4)(tokens)
    assert torch.allclose(block(tokens), expected, atol=1e-5)
    step_by_step = mix(*block.attn.split(block.norm1(tokens)), see=lambda weights: weights)
    out = block.mlp_residual(block.add(tokens, block.attn.join(step_by_step)))
    assert torch.allclose(out, expected, atol=1e-5)


def test_first_rows_only_are_the_first_rows():
    torch.manual_seed(0)
    block, tokens = Block(16, 4), torch.randn(2, 5, 16)
    assert torch.allclose(block(tokens, first=2), block(tokens)[:, :2], atol=1e-6)


def test_leaving_the_last_patches_out_changes_no_gradient():
    torch.manual_seed(0)
    model, images = ViT(dim=32, depth=2), torch.rand(2, 1, 48, 48)
    model(images).square().sum().backward()
    short = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model.attend(images)[0].square().sum().backward()
    for (name, p), gradient in zip(model.named_parameters(), short, strict=True):
        assert torch.allclose(p.grad, gradient, atol=1e-4), name


def test_attention_by_hand():
    """Keys and queries of zero attend evenly: each output is the mean of the values."""
    attention = Attention(4, heads=2)
    with torch.no_grad():
        attention.qkv.weight.zero_()
        attention.qkv.bias.zero_()
        attention.qkv.weight[8:].copy_(torch.eye(4))
        attention.proj.weight.copy_(torch.eye(4))
        attention.proj.bias.zero_()
    tokens = torch.randn(1, 3, 4)
    maps = []
    heads = mix(*attention.split(tokens), see=lambda weights: maps.append(weights) or weights)
    out = attention.join(heads)
    assert torch.allclose(maps[0], torch.full((1, 2, 3, 3), 1 / 3))
    assert torch.allclose(out, attention(tokens), atol=1e-6)
    assert torch.allclose(out, tokens.mean(1, keepdim=True).expand_as(out), atol=1e-6)


def test_drop_path_keeps_the_mean_and_drops_whole_samples():
    torch.manual_seed(0)
    layer, ones = DropPath(0.25), torch.ones(4000, 2, 2)
    out = layer(ones)
    assert out.unique().tolist() == pytest.approx([0, 4 / 3])
    assert (out == out[:, :1, :1]).all()
    assert out.mean().item() == pytest.approx(1, abs=0.03)
    assert torch.equal(layer.eval()(ones), ones)


def test_rates_reach_the_layers():
    model = ViT(depth=3, dropout=0.1, drop_path=0.2)
    rates = [m.rate for m in model.modules() if isinstance(m, DropPath)]
    assert rates == pytest.approx([0.1, 0.2])  # the first layer drops nothing
    assert {m.p for m in model.modules() if isinstance(m, nn.Dropout)} == {0.1}
    assert {m.dropout for m in model.modules() if isinstance(m, Attention)} == {0.1}
    images = torch.rand(1, 1, 48, 48)
    assert not torch.equal(model(images), model(images))
    model.eval()
    assert torch.equal(model(images), model(images))


def test_no_patch_gradient_after_the_cam_layer_of_a_cls_model():
    """The reason for reading the last block's first norm: at its second there is nothing."""
    model = ViT(dim=32, depth=2).eval()
    seen = []
    handle = model.blocks[-1].norm2.register_forward_hook(lambda *args: seen.append(args[2]))
    logits, _ = model.attend(torch.rand(1, 1, 48, 48))
    handle.remove()
    (gradient,) = torch.autograd.grad(logits[:, 0].sum(), seen[0])
    assert gradient[:, 0].any()
    assert gradient.shape[1] == 65
    assert not gradient[:, 1:].any()
