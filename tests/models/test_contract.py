"""What every model promises, asked of every registered model and of timm backbones of each kind."""

import copy
from contextlib import contextmanager

import pytest
import torch
from outside_net import OutsideNet
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from fer_lightning.look.controls.null_maps import wake_zeros
from fer_lightning.models import (
    MODELS,
    NoAttentionError,
    Timm,
    build,
    describe,
    load_weights,
    rebuild,
    register_model,
)
from fer_lightning.models.cost import count_flops

SMALL_112 = {  # the same network with less of everything
    "in_chans": 1,
    "image_size": 64,
    "units": (1, 1, 1),
    "dim": 32,
    "depth": 4,
    "keep_patches": 40,
}
FACES = {"num_classes": 7, "in_chans": 1, "image_size": 48}  # for models made for CIFAR-10
# name of the case: name of the model, its arguments, its grid, whether it has attention maps
CASES = {
    "cnn": ("cnn", {}, (24, 24), False),
    "cnn-layer": ("cnn", {"pooling": "layer"}, (6, 6), False),
    "vit": ("vit", {}, (8, 8), True),
    "vit-mean": ("vit", {"pool": "mean", "depth": 2}, (8, 8), True),
    "vit-rgb": ("vit", {"in_chans": 3, "image_size": 32, "patch_size": 4}, (8, 8), True),
    "swin": ("swin", {}, (6, 6), False),
    "vit_tiny": ("vit_tiny", {}, (8, 8), True),
    "vit_tiny-faces": ("vit_tiny", FACES, (12, 12), True),
    "simple_cnn": ("simple_cnn", {}, (8, 8), False),
    "simple_cnn-faces": ("simple_cnn", FACES, (12, 12), False),
    "small_resnet": ("small_resnet", {}, (8, 8), False),
    "small_resnet-faces": ("small_resnet", FACES, (12, 12), False),
    "vit-pooled": ("vit", {"keep_patches": 40, "keep_rate": 0.7}, (8, 8), True),
    "vit-mean-pooled": ("vit", {"pool": "mean", "depth": 2, "keep_patches": 40}, (8, 8), True),
    "flagship": ("flagship", {}, (6, 6), False),
    "hybrid_vit": ("hybrid_vit", {}, (8, 8), True),
    "apvit": ("apvit", {}, (12, 12), True),
    "apvit-lanet": ("apvit", {"depth": 2, "patch_criterion": "lanet"}, (12, 12), True),
    "apvit-soft": (
        "apvit",
        {"depth": 2, "keep_patches": None, "keep_rate": 1.0, "patch_mode": "soft"},
        (12, 12),
        True,
    ),
    "apvit_112": ("apvit_112", SMALL_112, (8, 8), True),
    "outside": ("outside", {}, (24, 24), False),
    "outside-wide": ("outside", {"width": 12, "image_size": 32}, (16, 16), False),
    "timm": ("timm", {}, (2, 2), False),
    "convnext_atto": ("timm", {"name": "convnext_atto", "image_size": 64}, (2, 2), False),
    "mobilenet": ("timm", {"name": "mobilenetv3_small_100", "image_size": 160}, (5, 5), False),
    "timm-vit_tiny": ("timm", {"name": "vit_tiny_patch16_224"}, (3, 3), True),
    "deit_tiny": ("timm", {"name": "deit_tiny_patch16_224", "in_chans": 3}, (3, 3), True),
    "deit_tiny-pooled": (
        "timm",
        {"name": "deit_tiny_patch16_224", "image_size": 96, "keep_rate": 0.95},
        (6, 6),
        True,
    ),
    "deit-two-prefix-tokens": ("timm", {"name": "deit_tiny_distilled_patch16_224"}, (3, 3), True),
    "vit-mean-beside-cls": ("timm", {"name": "test_vit2"}, (3, 3), True),
    "vit-attention-pool": ("timm", {"name": "test_vit3"}, (3, 3), True),
    "swin_tiny": (
        "timm",
        {"name": "swin_tiny_patch4_window7_224", "image_size": 64},
        (2, 2),
        False,
    ),
    "preprocessed": (
        "timm",
        {"name": "test_vit", "preprocess": True, "input_size": 64},
        (4, 4),
        True,
    ),
}


@pytest.fixture(scope="module", autouse=True)
def from_outside():
    """A model that this package does not know promises the same."""
    register_model("outside", source="a test")(OutsideNet)
    yield
    MODELS.pop("outside")


@pytest.fixture(params=CASES, scope="module")
def case(request):
    return CASES[request.param]


@pytest.fixture(scope="module")
def model(case):
    name, arguments, _, _ = case
    torch.manual_seed(0)
    return build(name, **arguments).eval()


@pytest.fixture
def own(model):
    """A copy for tests that change it."""
    return copy.deepcopy(model)


@pytest.fixture(scope="module")
def images(model):
    size, chans = model.init_args["image_size"], model.init_args["in_chans"]
    return torch.rand(2, chans, size, size, generator=torch.Generator().manual_seed(1))


@contextmanager
def watched(layer):
    outputs = []
    handle = layer.register_forward_hook(lambda module, args, output: outputs.append(output))
    yield outputs
    handle.remove()


def cam_activation(model, images):
    with watched(model.cam_layer) as outputs:
        logits = model.forward(images)
    assert len(outputs) == 1
    return logits, outputs[0]


def awake(model):
    """A head of zeros, as some models start with, would tell nothing."""
    if model.head.weight.any():
        return model
    twin = copy.deepcopy(model)
    wake_zeros(twin)
    return twin


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_every_registered_model_is_tested():
    assert {name for name, *_ in CASES.values()} == set(MODELS)


def test_shapes(case, model, images):
    *_, grid, _ = case
    features = model.features(images)
    logits, activation = cam_activation(model, images)
    assert logits.shape == (2, model.init_args["num_classes"])
    assert features.ndim == 2
    assert len(features) == 2
    assert model.to_grid(activation).shape[0] == 2
    assert model.to_grid(activation).shape[2:] == grid


def test_features_feed_the_head(model, images):
    assert torch.equal(model.head(model.features(images)), model.forward(images))


def test_one_image_does_not_change_another(model, images):
    together, alone = model(images)[1], model(images[1:])[0]
    assert torch.allclose(together, alone, atol=1e-5)


def test_every_parameter_gets_a_gradient(own, images):
    wake_zeros(own)  # resnet18 starts with the last norm of each branch at zero
    own.train()
    labels = torch.tensor([0, 1])
    nn.functional.cross_entropy(own(images), labels).backward()
    dead = [n for n, p in own.named_parameters() if p.grad is None or not p.grad.any()]
    assert dead == []


def test_gradient_at_every_place_of_the_cam_layer(model, images):
    model = awake(model)
    logits, activation = cam_activation(model, images)
    (gradient,) = torch.autograd.grad(logits[:, 3].sum(), activation)
    places = model.to_grid(gradient).abs().sum(1) > 0
    if not model.kept_masks(images):
        assert places.all()
        return
    masks = list(model.kept_masks(images).values())
    assert any(torch.equal(places, mask) for mask in masks)
    assert torch.equal(model.to_grid(activation).bool().any(1), places)


def centre_of_change(model, images, rows, columns):
    """Where in its grid the model answers to another content of a part of the image."""
    changed = images.clone()
    changed[..., rows, columns] = 1 - changed[..., rows, columns].round()
    with torch.no_grad():
        before = model.to_grid(cam_activation(model, images)[1])
        after = model.to_grid(cam_activation(model, changed)[1])
    change = (after - before).abs().sum((0, 1))  # h, w
    change = change / change.sum()
    h, w = change.shape
    row = (change.sum(1) * torch.arange(h) / h).sum()
    return torch.stack([row, (change.sum(0) * torch.arange(w) / w).sum()])


def test_grid_has_each_place_where_the_image_has_it(own, images):
    """What moves down in the image moves down in the grid, and what moves right, right."""
    with torch.no_grad():
        for module in getattr(own, "stem", nn.Sequential()).modules():
            if isinstance(module, nn.BatchNorm2d):
                module.momentum = 1.0  # a deep stack of half-true statistics would fade out
        own.train()(torch.rand(16, *images.shape[1:]))  # BatchNorm meets usual activations
        own.eval()
    third, everything = images.shape[-1] // 3, slice(None)
    start, end = slice(0, third), slice(-third, None)
    down = centre_of_change(own, images, end, everything)
    down -= centre_of_change(own, images, start, everything)
    right = centre_of_change(own, images, everything, end)
    right -= centre_of_change(own, images, everything, start)
    assert down[0] > 3 * down[1].abs()
    assert right[1] > 3 * right[0].abs()


def test_attention_is_what_the_logits_were_made_with(case, model, images):
    *_, grid, attends = case
    if not attends:
        with pytest.raises(NoAttentionError, match="global attention but got"):
            model.attention_maps(images)
        return
    model = awake(model)
    logits, maps = model.attend(images)
    tokens = model.num_prefix_tokens + grid[0] * grid[1]
    assert len(maps) >= 2
    for attention in maps:
        assert attention.shape[0] == 2
        assert attention.shape[2:] == (tokens, tokens)
        left = attention.any(-1)  # rows of dropped tokens are zero, and so are their columns
        assert torch.allclose(attention.sum(-1), left.float(), atol=1e-5)
        assert torch.equal(attention.any(-2), left)
        assert left.all() or model.kept_masks(images)
    assert torch.allclose(logits, model.forward(images), atol=1e-5)
    assert torch.equal(model.attention_maps(images)[-1], maps[-1])
    gradients = torch.autograd.grad(logits[:, 0].sum(), maps)
    assert all(gradient.any() for gradient in gradients)
    row = maps[-1][:, :, 0]  # B, heads, N: what the first token reads
    assert model.to_grid(row.transpose(1, 2)).shape[2:] == grid


def test_positions_lie_on_the_grid(case, model):
    *_, grid, attends = case
    if attends:
        assert model.positions.shape[:2] == grid
    else:
        with pytest.raises(NoAttentionError, match="learned positions"):
            _ = model.positions


def test_asking_leaves_the_model_as_it_was(own, images):
    own.train()
    own.head.eval()  # an unusual mixture of modes must come back
    state = {key: value.clone() for key, value in own.state_dict().items()}
    modes = [module.training for module in own.modules()]
    fused = [getattr(module, "fused_attn", None) for module in own.modules()]
    count_flops(own)
    _ = own.cam_layer
    if hasattr(own, "layout") and own.layout.kind == "NLC":
        own.attention_maps(images)
        with pytest.raises(RuntimeError):
            own.attention_maps(images.repeat(1, 2, 1, 1))  # too many channels: dies inside
    assert hooks(own) == 0
    assert [module.training for module in own.modules()] == modes
    assert [getattr(module, "fused_attn", None) for module in own.modules()] == fused
    assert all(torch.equal(value, state[key]) for key, value in own.state_dict().items())


def test_copies_keep_arguments_and_outputs(model, images):
    twin = copy.deepcopy(model)
    assert twin.init_args == model.init_args
    assert torch.equal(twin(images), model(images))
    assert twin.cam_layer is not model.cam_layer


def test_description_rebuilds_the_model(model, images):
    twin = rebuild(describe(model)).eval()
    load_weights(twin, model.state_dict(), "the model itself")
    assert torch.allclose(twin(images), model(images), atol=1e-6)


def test_loading_keeps_the_memory_format(own):
    before = [p.stride() for p in own.parameters()]
    own.load_state_dict({k: v.contiguous().clone() for k, v in own.state_dict().items()})
    assert [p.stride() for p in own.parameters()] == before


def test_fused_and_plain_attention_agree(model, images):
    with sdpa_kernel(SDPBackend.MATH):
        plain = model(images)
    assert torch.allclose(model(images), plain, atol=1e-5)


def test_timm_defaults_are_registered_ones():
    assert isinstance(build("timm"), Timm)
