"""Models by name, and descriptions that nobody can trust."""

import json
from pathlib import Path

import pytest
import torch

from fer_lightning.errors import UserError
from fer_lightning.models import CNN, ENTRIES, MODELS, Timm, ViT, build, describe, name_of, rebuild


def test_names():
    assert set(MODELS) >= {"cnn", "vit", "swin", "timm"}
    assert all(name_of(build(name)) == name for name in MODELS)
    assert all(Path(entry.config).stem == name for name, entry in ENTRIES.items())


def test_unknown_name():
    with pytest.raises(UserError, match=r"got 'vti'; did you mean 'vit'\?"):
        build("vti")


def test_unknown_argument():
    with pytest.raises(UserError, match=r"model 'cnn' \(num_classes.*got 'dropuot'; did you mean"):
        build("cnn", dropuot=0.1)


def test_unregistered_model():
    class Other(CNN):
        pass

    with pytest.raises(UserError, match=r"registered model .* but got Other"):
        name_of(Other())


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
