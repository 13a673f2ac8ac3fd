"""Models by name, and descriptions that nobody can trust."""

import json
import sys
from pathlib import Path

import pytest
import torch
from outside_net import OutsideNet

from fer_lightning.errors import UserError
from fer_lightning.models import (
    CNN,
    MODELS,
    Timm,
    ViT,
    build,
    create_model,
    describe,
    list_models,
    name_of,
    rebuild,
    register_model,
)


def test_names():
    assert set(MODELS) >= {"cnn", "vit", "swin", "timm"}
    assert all(name_of(build(name)) == name for name in MODELS)
    assert all(Path(entry.config).stem == name for name, entry in MODELS.items())


def test_unknown_name():
    with pytest.raises(UserError, match=r"got 'vti'; did you mean 'vit'\?"):
        build("vti")


def test_unknown_argument():
    with pytest.raises(UserError, match=r"model 'cnn' \(num_classes.*got 'dropuot'; did you mean"):
        build("cnn", dropuot=0.1)


@pytest.fixture
def registry(monkeypatch):
    """A copy of the registry that a test may change."""
    monkeypatch.setattr("fer_lightning.models.registry.MODELS", copy := dict(MODELS))
    return copy


def test_registered_from_outside(registry):
    assert register_model("outside", source="a test")(OutsideNet) is OutsideNet
    assert "outside" in list_models()
    model = create_model("outside", num_classes=3, width=5)
    assert name_of(model) == describe(model)["name"] == "outside"
    assert rebuild(describe(model)).init_args == model.init_args
    register_model("outside", source="again")(OutsideNet)  # as a notebook's cell does
    assert registry["outside"].source == "again"


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("vit", OutsideNet, "new name of a model but 'vit' is taken"),
        ("my net", OutsideNet, "letters, digits and _ but got 'my net'"),
        ("net", torch.nn.Linear, "subclass of VisionModel as model 'net'"),
    ],
)
def test_bad_registration(registry, name, kind, message):
    with pytest.raises(UserError, match=message):
        register_model(name)(kind)
    assert registry == MODELS


def test_entry_points_are_loaded_when_names_are_asked_for(registry, tmp_path, monkeypatch):
    """A package that is installed, but that nobody has imported."""
    info = tmp_path / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[fer_lightning.models]\nplugged = plugin_nets:Net\nplain = plugin_nets:Plain\n"
    )
    (tmp_path / "plugin_nets.py").write_text(
        "from fer_lightning.models import CNN, register_model\n"
        "@register_model('plugged')\nclass Net(CNN): pass\nclass Plain(CNN): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert {"plugged", "plain"} <= set(list_models())
    for name in ("plugged", "plain"):
        assert name_of(create_model(name)) == name


def test_unregistered_model_is_named_by_its_class(registry):
    model = OutsideNet(width=5)
    assert name_of(model) == "outside_net"
    assert describe(model)["name"] == "outside_net.OutsideNet"
    for name in ("outside_net", "outside_net.OutsideNet"):
        assert type(create_model(name)) is OutsideNet
    assert rebuild(describe(model)).init_args["width"] == 5


def test_unregistered_model_does_not_pass_for_another():
    class Cnn(CNN):
        pass

    assert name_of(Cnn()).endswith("<locals>.Cnn")


def test_description_of_a_class_that_is_not_imported_imports_nothing():
    with pytest.raises(UserError, match=r"got 'antigravity.Net'; register it first"):
        rebuild({"name": "antigravity.Net", "init_args": {}})
    assert "antigravity" not in sys.modules


def test_description_is_plain():
    description = describe(CNN(3, widths=(4, 4, 4, 4), feature_width=5))
    assert json.loads(json.dumps(description)) == description
    assert rebuild(description).init_args["widths"] == [4, 4, 4, 4]
    assert isinstance(rebuild(description), CNN)


def test_description_of_fetched_weights_fetches_nothing(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(Timm(in_chans=3, name="test_resnet").backbone.state_dict(), path)
    model = Timm(name="test_resnet", weights=str(path))
    path.unlink()
    twin = rebuild(describe(model))
    assert twin.init_args["weights"] is None
    assert twin.init_args["pretrained"] is False
    assert (twin.preprocess, twin.input_size) == (True, 160)
    assert twin.state_dict().keys() == model.state_dict().keys()


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"name": "os.system", "init_args": {}}, "name of a model but got 'os.system'"),
        ({"name": "cnn"}, "'name' and 'init_args'"),
        (["cnn"], "'name' and 'init_args'"),
        ({"name": "cnn", "init_args": {"__class__": 1}}, "got '__class__'"),
        ({"name": "cnn", "init_args": {"widths": torch.zeros(4)}}, "plain values .* got Tensor"),
        ({"name": "cnn", "init_args": {"dropout": {1: 2}}}, "plain values .* got dict"),
        ({"name": "vit", "init_args": {"dim": 1 << 16}}, "at most 2,000,000,000 parameters"),
        ({"name": "vit", "init_args": {"depth": 10**9}}, "depth of at most"),
        ({"name": "cnn", "init_args": {"num_classes": "7"}}, "num_classes .* whole number"),
        ({"name": "cnn", "init_args": {"widths": "abcd"}}, "widths .* whole number"),
        ({"name": "swin", "init_args": {"depths": 3}}, "cannot be built"),
        ({"name": "timm", "init_args": {"name": 3}}, "name of a timm backbone"),
        ({"name": "timm", "init_args": {"weights": "/a/file"}}, "fetches nothing but got weights"),
        ({"name": "timm", "init_args": {"pretrained": True}}, "fetches nothing but got pretrained"),
        ({"name": "timm", "init_args": {"name": "hf-hub:a/b"}}, "name of a timm backbone"),
    ],
)
def test_hostile_description(description, message):
    with pytest.raises(UserError, match=message):
        rebuild(description)


def test_deeply_nested_description():
    nested: list = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(UserError, match="plain values"):
        rebuild({"name": "cnn", "init_args": {"widths": nested}})


def test_vit_description_keeps_every_argument():
    model = ViT(patch_size=8, dim=32, depth=1, heads=2, pool="mean")
    assert rebuild(describe(model)).init_args == model.init_args
