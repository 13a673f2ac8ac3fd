"""The model is left exactly as it was found, wherever it is asked and even if asking fails."""

import contextlib

import lightning as L
import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from fer_lightning.attribution import grad_cam
from fer_lightning.attribution.frozen import frozen_eval
from fer_lightning.models import CNN, Timm, ViT

IMAGES = torch.rand(4, 1, 48, 48, generator=torch.Generator().manual_seed(0))


def snapshot(model):
    """Everything that could have changed."""
    return {
        "state": {key: value.clone() for key, value in model.state_dict().items()},
        "objects": [id(p) for p in [*model.parameters(), *model.buffers()]],
        "training": [module.training for module in model.modules()],
        "requires_grad": [p.requires_grad for p in model.parameters()],
        "no_grad": [p.grad is None for p in model.parameters()],
        "hooks": [
            len(getattr(module, name))
            for module in model.modules()
            for name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")
        ],
        "random": torch.random.get_rng_state(),
        "switches": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
    }


def assert_same(before, after):
    assert before.keys() == after.keys()
    for key in before.keys() - {"state", "random"}:
        assert before[key] == after[key], key
    assert before["state"].keys() == after["state"].keys()
    for key, value in before["state"].items():
        assert torch.equal(value, after["state"][key]), key
    assert torch.equal(before["random"], after["random"])


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


class Watched(L.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = CNN()

    def training_step(self, batch, _):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, _):
        self.net(batch[0])

    test_step = validation_step

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


class Look(L.Callback):
    """Asks for maps wherever a callback might, and notes what changed."""

    def __init__(self):
        self.seen = {}

    def look(self, where, module, images):
        before = snapshot(module.net)
        cam = grad_cam(module.net, images)
        assert_same(before, snapshot(module.net))
        assert cam.signed.any()
        self.seen[where] = before["switches"]

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.look("train batch", module, batch[0])

    def on_validation_batch_end(self, trainer, module, outputs, batch, *_):
        self.look("validation batch", module, batch[0])

    def on_validation_epoch_end(self, trainer, module):
        self.look("validation epoch", module, IMAGES)

    def on_train_epoch_end(self, trainer, module):
        self.look("train epoch", module, IMAGES)

    def on_test_batch_end(self, trainer, module, outputs, batch, *_):
        self.look("test batch", module, batch[0])

    def on_test_epoch_end(self, trainer, module):
        self.look("test epoch", module, IMAGES)


def trainer_and_data(callbacks, precision="32-true"):
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        precision=precision,
        callbacks=callbacks,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    return trainer, DataLoader(TensorDataset(IMAGES, torch.tensor([0, 1, 2, 3])), batch_size=4)


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed", "bf16-true"])
def test_inside_a_trainer(precision):
    look = Look()
    trainer, data = trainer_and_data([look], precision)
    module = Watched()
    trainer.fit(module, data, data)
    assert look.seen.keys() == {
        "train batch",
        "validation batch",
        "validation epoch",
        "train epoch",
    }
    assert look.seen["validation epoch"] == (False, False)  # no_grad
    trainer.validate(module, data, verbose=False)
    assert look.seen["validation epoch"] == (False, True)  # inference_mode
    trainer.test(module, data, verbose=False)
    assert look.seen["test batch"] == look.seen["test epoch"] == (False, True)


def test_a_run_ends_the_same_with_and_without_looking():
    def fit(callbacks):
        trainer, data = trainer_and_data(callbacks)
        module = Watched()
        trainer.fit(module, data, data)
        return module.state_dict()

    alone, watched = fit([]), fit([Look()])
    assert all(torch.equal(alone[key], watched[key]) for key in alone)


def test_everything_inside_the_block():
    model = unusual(CNN)
    with torch.inference_mode(), torch.autocast("cpu"), frozen_eval(model) as inner:
        assert inner is model
        assert not any(module.training for module in model.modules())
        assert not any(p.requires_grad for p in model.parameters())
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()
        assert not torch.is_autocast_enabled("cpu")
