"""The model is left exactly as it was found, wherever it is asked and even if asking fails."""

import contextlib

import pytest
import torch
from left_as_found import IMAGES, assert_same, snapshot
from torch.nn.parallel import DistributedDataParallel

from fer_lightning.look.frozen import frozen_eval
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.models import CNN, Timm, ViT


def unusual(make):
    """A model in training with one frozen parameter and one module in eval mode."""
    torch.manual_seed(0)
    model = make().train()
    next(model.parameters()).requires_grad_(False)
    model.head.eval()
    return model


MAKERS = {
    "cnn": CNN,
    "vit": lambda: ViT(dropout=0.1, drop_path=0.1),
    "resnet": Timm,
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    "around", [contextlib.nullcontext, torch.no_grad, torch.inference_mode, torch.enable_grad]
)
def test_the_model_is_as_it_was_and_the_map_the_same(name, around):
    model = unusual(MAKERS[name])
    expected = grad_cam(model, IMAGES).signed
    with around():
        images = IMAGES + 0  # an inference tensor in inference mode
        before = snapshot(model)
        cam = grad_cam(model, images)
        assert_same(before, snapshot(model))
    assert torch.equal(cam.signed, expected)
    for tensor in cam:
        assert not tensor.requires_grad
        assert not tensor.is_inference()


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("layer", ["first", "head"])
def test_the_model_is_as_it_was_after_an_exception(name, layer):
    model = unusual(MAKERS[name])
    part = (
        model.head if layer == "head" else next(m for m in model.modules() if not [*m.children()])
    )

    def fail(*_):
        raise KeyboardInterrupt

    handle = part.register_forward_hook(fail)
    before = snapshot(model)
    with torch.no_grad(), pytest.raises(KeyboardInterrupt):
        grad_cam(model, IMAGES)
    handle.remove()
    after = snapshot(model)
    before["hooks"][before["hooks"].index(1)] = 0  # ours
    assert_same(before, after)


def test_a_gradient_under_way_is_kept():
    """Between backward and the optimizer's step, as in a callback after each batch."""
    model = CNN()
    model(IMAGES).sum().backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    grad_cam(model, IMAGES)
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), gradients, strict=True))


def test_training_goes_on_as_if_nobody_had_looked():
    def train(look):
        torch.manual_seed(0)
        model = CNN()
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            model(IMAGES).logsumexp(1).sum().backward()
            optimizer.step()
            if look:
                grad_cam(model, IMAGES)
        return model.state_dict()

    alone, watched = train(False), train(True)
    assert all(torch.equal(alone[key], watched[key]) for key in alone)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_does_not_coarsen_the_map(dtype):
    model = CNN().eval()
    expected = grad_cam(model, IMAGES)
    with torch.autocast("cpu", dtype=dtype):
        model(IMAGES)  # fills the cache of coarse weights
        cam = grad_cam(model, IMAGES)
        assert model(IMAGES).dtype == dtype
    assert torch.equal(cam.signed, expected.signed)
    assert torch.equal(cam.logits, expected.logits)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_weights_of_another_precision_are_used_as_float32(dtype):
    model = unusual(CNN).to(dtype)
    before = snapshot(model)
    cam = grad_cam(model, IMAGES)
    assert_same(before, snapshot(model))
    assert torch.equal(cam.signed, grad_cam(model.float(), IMAGES).signed)


@pytest.mark.parametrize("name", MAKERS)
def test_weights_made_in_inference_mode(name):
    expected = grad_cam(unusual(MAKERS[name]), IMAGES)
    with torch.inference_mode():
        model = unusual(MAKERS[name])
        assert next(model.parameters()).is_inference()
        before = snapshot(model)
        inside = grad_cam(model, IMAGES)
        assert_same(before, snapshot(model))
    outside = grad_cam(model, IMAGES)
    assert_same(before | {"switches": (True, False)}, snapshot(model))
    assert torch.equal(inside.signed, expected.signed)
    assert torch.equal(outside.signed, expected.signed)


def test_compiled_models():
    model = CNN().eval()
    expected = grad_cam(model, IMAGES)
    wrapped = torch.compile(model, backend="eager")
    assert torch.equal(grad_cam(wrapped, IMAGES).signed, expected.signed)
    model.compile(backend="eager")  # in place, as Classifier does
    model(IMAGES)
    model.train()
    before = snapshot(model)
    assert torch.equal(grad_cam(model, IMAGES).signed, expected.signed)
    assert_same(before, snapshot(model))


def test_a_look_makes_torch_compile_nothing_anew():
    model = ViT(depth=1)
    compiled = []

    def backend(graph, _inputs):
        compiled.append(graph)
        return graph.forward

    model.compile(backend=backend)
    model(IMAGES)
    count = len(compiled)
    grad_cam(model, IMAGES)
    model(IMAGES)
    assert len(compiled) == count > 0


@pytest.fixture
def one_process(tmp_path):
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1
    )
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("one_process")
def test_distributed_model_still_reduces_its_gradients():
    torch.manual_seed(0)
    model = ViT(depth=1)
    expected = grad_cam(model, IMAGES)
    wrapped = DistributedDataParallel(model)
    assert torch.equal(grad_cam(wrapped, IMAGES).signed, expected.signed)
    wrapped(IMAGES).logsumexp(1).sum().backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    torch.manual_seed(0)
    model(IMAGES).logsumexp(1).sum().backward()
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), gradients, strict=True))


def test_everything_inside_the_block():
    model = unusual(CNN)
    with torch.inference_mode(), torch.autocast("cpu"), frozen_eval(model) as inner:
        assert inner is model
        assert not any(module.training for module in model.modules())
        assert not any(p.requires_grad for p in model.parameters())
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()
        assert not torch.is_autocast_enabled("cpu")
