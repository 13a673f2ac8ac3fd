import pytest
import torch

from fer_lightning.look.controls.null_maps import untrained_twin
from fer_lightning.models import CNN, Timm, ViT

SMALL = {
    "cnn": lambda: CNN(widths=(4, 4, 4, 4), feature_width=8),
    "vit": lambda: ViT(dim=16, depth=2, heads=2),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_twin_has_the_same_shape_and_other_weights(name):
    model = SMALL[name]()
    twin = untrained_twin(model, seed=0)
    assert type(twin) is type(model)
    assert twin.init_args == model.init_args
    ours, its = model.state_dict(), twin.state_dict()
    assert {k: v.shape for k, v in ours.items()} == {k: v.shape for k, v in its.items()}
    assert not torch.equal(ours["head.weight"], its["head.weight"])
    assert not twin.training


def test_twins_depend_on_their_seed_only():
    model = SMALL["vit"]()
    first = untrained_twin(model, 3).state_dict()
    torch.rand(10)
    for name, tensor in untrained_twin(model, 3).state_dict().items():
        torch.testing.assert_close(tensor, first[name], rtol=0, atol=0)
    assert not torch.equal(first["head.weight"], untrained_twin(model, 4).head.weight)


def test_the_global_random_state_stays():
    model = SMALL["cnn"]()
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    untrained_twin(model, 5)
    torch.testing.assert_close(torch.rand(3), expected)


def test_the_model_itself_stays():
    model = SMALL["cnn"]()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    untrained_twin(model, 0)
    assert model.training
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=0)


def test_batch_statistics_are_new():
    model = SMALL["cnn"]()
    model(torch.rand(8, 1, 48, 48))  # in train mode: moves the statistics
    twin = untrained_twin(model, 0)
    assert model.stages.norm2.running_mean.any()
    assert not twin.stages.norm2.running_mean.any()


def test_no_weights_are_fetched(monkeypatch):
    model = Timm(name="resnet18", image_size=32)
    model.init_args["pretrained"] = True  # as if it had been made from downloaded weights
    monkeypatch.setattr("socket.socket.connect", lambda *a: pytest.fail("went to the network"))
    twin = untrained_twin(model, 0)
    assert not twin.init_args["pretrained"]


def test_parts_that_start_at_zero_are_woken():
    model = SMALL["vit"]()
    twin = untrained_twin(model, 0)
    assert all(p.any() for n, p in twin.named_parameters() if n.endswith("weight"))


def test_a_compiled_model_has_a_plain_twin():
    model = SMALL["cnn"]()
    assert type(untrained_twin(torch.compile(model), 0)) is CNN
