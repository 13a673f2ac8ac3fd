"""Attentive pooling: counts of the source, choices by hand, and a naive model image by image."""

import pytest
import torch
from torch.nn import functional as F

from fer_lightning.errors import UserError
from fer_lightning.models import ViT, describe, rebuild
from fer_lightning.models.cost import count_parameters
from fer_lightning.models.layers.pooling import AttentivePooling, PatchPooling

IMAGES = torch.rand(3, 1, 24, 24, generator=torch.Generator().manual_seed(0))
SMALL = {"image_size": 24, "patch_size": 4, "dim": 16, "heads": 2}  # 6x6 patches


def tokens_seen(model, images):
    """How many tokens each layer reads, and how many its MLP does."""
    seen = []
    handles = [
        norm.register_forward_hook(lambda module, args, output: seen.append(output.shape[1]))
        for block in model.blocks
        for norm in (block.norm1, block.norm2)
    ]
    model.attend(images)  # with all tokens of the last layer
    for handle in handles:
        handle.remove()
    return seen[::2], seen[1::2]


def test_token_counts_of_the_source():
    model = ViT(image_size=14, patch_size=1, dim=8, depth=8, keep_patches=160, keep_rate=0.9)
    read, thought = tokens_seen(model, torch.rand(1, 1, 14, 14))
    assert read == [161, 161, 161, 161, 161, 145, 130, 117]
    assert thought == [161, 161, 161, 161, 145, 130, 117, 105]


@pytest.mark.parametrize(
    ("k", "r", "left"),
    [(160, 0.9, 104), (80, 0.6, 9), (10, 0.6, 0), (None, 1.0, 196), (196, 1.0, 196)],
)
def test_patches_left(k, r, left):
    assert AttentivePooling(k, r).patches_by_layer(196, 8)[-1] == left


def test_odd_depths_drop_in_the_smaller_half():
    assert AttentivePooling(keep_rate=0.5).patches_by_layer(8, 3) == [8, 8, 8, 4]
    assert AttentivePooling(keep_rate=0.5).patches_by_layer(8, 1) == [8, 8]


def test_pooling_adds_no_parameter():
    plain, pooled = ViT(**SMALL), ViT(**SMALL, keep_patches=9, keep_rate=0.5)
    assert list(plain.state_dict()) == list(pooled.state_dict())
    assert count_parameters(plain) == count_parameters(pooled)
    with_network = ViT(**SMALL, keep_patches=9, patch_criterion="lanet")
    assert count_parameters(with_network) == count_parameters(plain) + (16 + 1) + (1 + 1)


def test_keeping_all_changes_nothing():
    torch.manual_seed(0)
    plain = ViT(**SMALL).eval()
    pooled = ViT(**SMALL, keep_patches=36, keep_rate=1.0).eval()
    pooled.load_state_dict(plain.state_dict())
    assert torch.equal(plain(IMAGES), pooled(IMAGES))
    assert pooled.kept_masks(IMAGES) == {}
    assert pooled.cam_layer is pooled.blocks[-1].norm1


@pytest.mark.parametrize("batch", [9, 10, 36, 37])
def test_a_batch_as_large_as_the_number_of_tokens(batch):
    torch.manual_seed(0)
    model = ViT(**SMALL, keep_patches=9, keep_rate=0.5).eval()
    images = torch.rand(batch, 1, 24, 24)
    alone = torch.cat([model(image[None]) for image in images])
    assert torch.allclose(model(images), alone, atol=1e-5)
    assert tokens_seen(model, images)[1] == [10, 10, 5, 3]


@torch.no_grad()
def naive(model, image):
    """Logits and the places left after each stage, of one image, with plain Python choices."""
    pooling, H = model.pooling, model.blocks[0].attn.heads
    patches = model.embed(image[None])[0]
    strength = {
        "sum": patches.sum(1),
        "abs": patches.abs().sum(1),
        "max": patches.max(1).values,
    }[pooling.patch_criterion]
    order = sorted(range(len(patches)), key=lambda i: -strength[i])
    places = sorted(order[: pooling.keep_patches])
    position = model.pos_embed[0]
    x = torch.stack(
        [model.cls_token[0, 0] + position[0]] + [patches[i] + position[1 + i] for i in places]
    )
    stages = [places]
    for number, block in enumerate(model.blocks):
        q, k, v = (
            part.reshape(len(x), H, -1) for part in block.attn.qkv(block.norm1(x)).chunk(3, -1)
        )
        logits = torch.einsum("qhd,khd->hqk", q, k) / q.shape[-1] ** 0.5
        mixed = torch.einsum("hqk,khd->qhd", logits.softmax(-1), v).reshape(len(x), -1)
        x = x + block.attn.proj(mixed)
        if number >= len(model.blocks) / 2:
            row = logits[:, 0, 1:]
            scores = {
                "sum": row.sum(0),
                "abs": row.abs().sum(0),
                "max": row.max(0).values,
            }[pooling.token_criterion]
            n = int(pooling.keep_rate * len(places))
            kept = sorted(sorted(range(len(places)), key=lambda i: -scores[i])[:n])
            x = x[[0] + [1 + i for i in kept]]
            places = [places[i] for i in kept]
            stages.append(places)
        x = x + block.mlp(block.norm2(x))
    return model.head(model.norm(x[0])), stages


@pytest.mark.parametrize("patch_criterion", ["sum", "abs", "max"])
@pytest.mark.parametrize("token_criterion", ["sum", "abs", "max"])
@pytest.mark.parametrize("rate", [0.7, 0.3])
def test_model_equals_the_naive_one(patch_criterion, token_criterion, rate):
    torch.manual_seed(1)
    model = ViT(
        **SMALL,
        keep_patches=20,
        keep_rate=rate,
        patch_criterion=patch_criterion,
        token_criterion=token_criterion,
    ).eval()
    masks = model.kept_masks(IMAGES)
    assert list(masks) == ["patch pooling", "layer 3", "layer 4"]
    for i, image in enumerate(IMAGES):
        logits, stages = naive(model, image)
        assert torch.allclose(model(IMAGES)[i], logits, atol=1e-5)
        assert torch.allclose(model.attend(IMAGES)[0][i], logits, atol=1e-5)
        for mask, places in zip(masks.values(), stages, strict=True):
            assert mask[i].flatten().nonzero()[:, 0].tolist() == places


def test_the_brightest_patches_stay():
    """Tokens that hold their patch's pixels: strength is brightness."""
    model = ViT(image_size=6, patch_size=2, dim=4, heads=1, depth=2, keep_patches=2).eval()
    with torch.no_grad():
        model.embed.proj.weight.copy_(torch.eye(4))
        model.embed.proj.bias.zero_()
    image = torch.zeros(1, 1, 6, 6)
    image[..., 0:2, 4:6] = 0.5  # top right
    image[..., 4:6, 2:4] = 0.9  # bottom middle
    image[..., 2:4, 0:2] = 0.3
    expected = torch.tensor([[0, 0, 1], [0, 0, 0], [0, 1, 0]], dtype=torch.bool)
    assert torch.equal(model.kept_masks(image)["patch pooling"][0], expected)


def test_all_tokens_may_go():
    model = ViT(**SMALL, depth=6, keep_patches=3, keep_rate=0.4).eval()
    assert tokens_seen(model, IMAGES)[0] == [4, 4, 4, 4, 2, 1]
    assert not model.kept_masks(IMAGES)["layer 5"].any()
    assert torch.allclose(model.attend(IMAGES)[0], model(IMAGES), atol=1e-5)


def test_dropped_patches_do_not_matter_to_the_layers():
    """A change of a dropped patch that leaves it weak changes nothing."""
    torch.manual_seed(0)
    model = ViT(**SMALL, keep_patches=5).eval()
    mask = model.kept_masks(IMAGES)["patch pooling"]
    pixels = F.interpolate(mask[:, None].float(), size=24).bool()
    changed = torch.where(pixels, IMAGES, IMAGES * 0.9)
    assert torch.equal(model.kept_masks(changed)["patch pooling"], mask)
    assert torch.allclose(model(changed), model(IMAGES), atol=1e-6)


def test_lanet_learns_through_the_choice():
    model = ViT(**SMALL, keep_patches=9, patch_criterion="lanet")
    model(IMAGES).square().sum().backward()
    assert all(p.grad.any() for p in model.patch_pool.parameters())


def test_soft_pooling_weakens_and_keeps_all():
    patches = torch.tensor([[[2.0, -2.0], [1.0, 1.0], [0.0, 0.0]]])
    soft = AttentivePooling(patch_mode="soft")
    pooled, kept = PatchPooling(2, "abs")(patches, soft)
    assert kept is None
    assert torch.equal(pooled, torch.tensor([[[2.0, -2.0], [0.5, 0.5], [0.0, 0.0]]]))
    torch.manual_seed(0)
    plain, model = ViT(**SMALL).eval(), ViT(**SMALL, patch_mode="soft").eval()
    model.load_state_dict(plain.state_dict())
    assert model.kept_masks(IMAGES) == {}
    assert not torch.allclose(model(IMAGES), plain(IMAGES))


def test_mean_head_reads_the_kept_patches_only():
    torch.manual_seed(0)
    model = ViT(**SMALL, keep_patches=5, pool="mean").eval()
    tokens, ids = model.tokens(IMAGES)
    for block in model.blocks:
        tokens = block(tokens)
    assert tokens.shape[1] == 5
    assert torch.allclose(model.features(IMAGES), model.norm(tokens).mean(1), atol=1e-6)
    assert ids.shape == (3, 5)


def test_description_keeps_the_choices():
    model = ViT(**SMALL, keep_patches=9, keep_rate=0.5, token_criterion="max")
    twin = rebuild(describe(model))
    assert twin.pooling == model.pooling == AttentivePooling(9, 0.5, "abs", "max")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keep_patches": 37}, "keep_patches of at most 36, the number of patches, but got 37"),
        ({"keep_patches": 0}, "keep_patches of at least 1 but got 0"),
        ({"keep_patches": 2.5}, "keep_patches to be a whole number but got 2.5"),
        ({"keep_rate": 0.0}, "keep_rate above 0 and at most 1 but got 0.0"),
        ({"keep_rate": 1.1}, "keep_rate above 0 and at most 1 but got 1.1"),
        ({"keep_rate": float("nan")}, "keep_rate above 0 and at most 1 but got nan"),
        ({"keep_rate": "half"}, "keep_rate above 0 and at most 1 but got 'half'"),
        ({"keep_rate": 0.9, "pool": "mean"}, r"expected a \[CLS\] token.*set pool to cls"),
        ({"patch_criterion": "abss"}, "patch_criterion but got 'abss'; did you mean 'abs'"),
        ({"token_criterion": "lanet"}, "token_criterion but got 'lanet'; choose one of sum"),
        ({"patch_mode": "medium"}, "patch_mode but got 'medium'; choose one of hard, soft"),
        ({"patch_mode": "soft", "keep_patches": 9}, "no keep_patches with soft pooling"),
    ],
)
def test_bad_pooling(arguments, message):
    with pytest.raises(UserError, match=message):
        ViT(**SMALL, **arguments)
