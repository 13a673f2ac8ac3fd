"""Models under torch.compile: names of weights, hooks, outputs."""

import pytest
import torch

from fer_lightning.models import NoAttentionError, build, load_weights, unwrap

SMALL = [("cnn", {}), ("vit", {"depth": 2}), ("timm", {"name": "test_vit"})]
LARGE = [("swin", {}), ("timm", {}), ("hybrid_vit", {}), ("apvit", {}), ("flagship", {})]


def gradients(model, images):
    model.zero_grad()
    model(images).square().sum().backward()
    return [weight.grad.clone() for weight in model.parameters()]


def check(name, arguments, backend):
    torch.manual_seed(0)
    model = build(name, **arguments).eval()
    images = torch.rand(2, 1, 48, 48)
    names, expected = list(model.state_dict()), model(images)
    learned = gradients(model, images)
    model.compile(backend=backend)
    assert torch.allclose(model(images), expected, atol=1e-5)
    for again, once in zip(gradients(model, images), learned, strict=True):
        assert torch.allclose(again, once, atol=1e-4 * max(1.0, once.abs().max()))
    assert list(model.state_dict()) == names
    seen = []
    handle = model.cam_layer.register_forward_hook(lambda *args: seen.append(args[2]))
    logits = model.forward(images)
    handle.remove()
    assert len(seen) == 1
    assert torch.autograd.grad(logits[:, 0].sum(), seen[0])[0].any()
    try:
        assert torch.allclose(model.attend(images)[0], expected, atol=1e-5)
    except NoAttentionError:
        assert name != "vit"


@pytest.mark.parametrize(("name", "arguments"), [*SMALL, ("hybrid_vit", {"depth": 1})])
def test_compiled_in_place(name, arguments):
    check(name, arguments, "eager")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "arguments"), SMALL + LARGE)
def test_compiled_in_place_to_machine_code(name, arguments):
    check(name, arguments, "inductor")


def test_weights_of_a_wrapped_model_load():
    torch.manual_seed(0)
    wrapped = torch.compile(build("vit", depth=1), backend="eager")
    assert all(key.startswith("_orig_mod.") for key in wrapped.state_dict())
    plain = build("vit", depth=1)
    load_weights(plain, wrapped.state_dict(), "a compiled model")
    assert torch.equal(plain.head.weight, unwrap(wrapped).head.weight)
    assert unwrap(plain) is plain
