"""Weights that come with the package: whole, safe to read, and as good as the model card says."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from fer_lightning.api.data import load_data
from fer_lightning.data.augment import to_float
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.errors import UserError
from fer_lightning.look.controls.hiding import answers
from fer_lightning.models import CNN, create_model, describe
from fer_lightning.models.shipped_weights import FOLDER, read_half, shipped, write_half
from fer_lightning.training.checkpoint import find_checkpoint, load_net

CARD = Path(__file__).parents[2] / "docs" / "model_card.md"


def about(net):
    return {"version": "0", "net": describe(net), "classes": list(FER_CLASSES), "data": "x"}


@pytest.fixture
def net():
    torch.manual_seed(0)
    net = CNN(widths=(4, 4, 4, 4)).eval()
    net.set_scale(mean=[0.5], std=[0.25])
    return net


def test_what_is_written_is_read(net, tmp_path):
    write_half(tmp_path / "net.safetensors", net.state_dict(), about(net))
    again, told = load_net(tmp_path / "net.safetensors")
    assert told == about(net)
    assert again.scale == net.scale
    assert not again.training
    for name, value in net.state_dict().items():
        found = again.state_dict()[name]
        assert found.dtype == value.dtype
        assert found.equal(value.half().float() if value.is_floating_point() else value)


@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_shipped_file(name):
    net, told = load_net(find_checkpoint(name))
    assert told["net"]["name"] == name
    assert told["classes"] == list(FER_CLASSES)
    assert (FOLDER / f"{name}.safetensors").stat().st_size < 4e6
    made = create_model(name, pretrained=True).eval()
    images = torch.rand(2, 1, 48, 48)
    with torch.no_grad():
        assert made(images).equal(net(images))
        assert made(images).isfinite().all()


def test_ours_and_the_paper_s_pair_are_shipped():
    assert list(shipped()) == ["cnn", "flagship", "vit"]


def test_a_model_without_shipped_weights():
    with pytest.raises(UserError, match="whose weights come with the package but got 'swin'"):
        create_model("swin", pretrained=True)
    assert create_model("swin", pretrained=False)


def test_other_sizes_than_the_weights_have():
    with pytest.raises(UserError, match="expected the sizes that the weights of 'flagship' have"):
        create_model("flagship", pretrained=True, num_classes=3)


def test_a_file_of_the_user_s_goes_before_a_shipped_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_checkpoint("flagship").parent == FOLDER
    (tmp_path / "flagship").touch()
    assert not find_checkpoint("flagship").is_absolute()


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "damaged or has none"),
        ({"fer_lightning": "{"}, "damaged or has none"),
        ({"fer_lightning": "[" * 50_000}, "damaged or has none"),
        ({"fer_lightning": " " * 200_000 + "{}"}, "damaged or has none"),
        ({"fer_lightning": "3"}, "it is damaged"),
        ({"fer_lightning": "{}"}, "expected a model's description"),
        ({"fer_lightning": '{"net": {"name": "os.system", "init_args": {}}}'}, "name of a model"),
    ],
)
def test_files_that_say_something_else(net, tmp_path, metadata, message):
    path = tmp_path / "net.safetensors"
    weights = {name: value.contiguous() for name, value in net.state_dict().items()}
    save_file(weights, path, metadata)
    with pytest.raises(UserError, match=message):
        load_net(path)


def test_a_damaged_file(net, tmp_path):
    path = tmp_path / "net.safetensors"
    write_half(path, net.state_dict(), about(net))
    whole = path.read_bytes()
    for content in (b"", whole[:100], whole[:-5], b"\xff" * 8 + whole[8:]):
        path.write_bytes(content)
        with pytest.raises(UserError, match="damaged or has none"):
            read_half(path)


def test_weights_of_another_shape(net, tmp_path):
    path = tmp_path / "net.safetensors"
    other = about(net) | {"net": json.loads(json.dumps(describe(CNN(widths=(8, 4, 4, 4)))))}
    write_half(path, net.state_dict(), other)
    with pytest.raises(UserError, match="missing or of another shape"):
        load_net(path)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["cnn", "vit"])
def test_the_paper_s_pair_is_as_good_as_its_cells(name):
    """Half precision keeps the accuracy of the study's own test images."""
    if not os.environ.get("FER2013"):
        pytest.skip("set FER2013 to the path of the data set")
    cell = CARD.parent / f"results/inductive_bias_gap/{name}-100pct-seed42"
    told = json.loads((cell / "summary.json").read_text())
    data = load_data(os.environ["FER2013"], duplicates="group")
    test = data.test
    assert data.image_set.fingerprint == told["fingerprint"]
    net = create_model(name, pretrained=True).eval()
    logits = answers(net, to_float(torch.from_numpy(test.images)), 64)
    right = logits.argmax(1).numpy() == data.image_set.labels[data.split.test]
    assert right.mean() == pytest.approx(told["test"]["acc"], abs=0.001)


@pytest.mark.real_data
def test_the_flagship_is_as_good_as_its_card_says():
    if not os.environ.get("FER2013"):
        pytest.skip("set FER2013 to the path of the data set")
    data = load_data(os.environ["FER2013"], split="official", duplicates="keep")
    data.setup("fit")
    rows = data.split.test
    net = create_model("flagship", pretrained=True).eval()
    logits = answers(net, to_float(torch.from_numpy(data.image_set.images[rows])), 64)
    right = logits.argmax(1).numpy() == data.image_set.labels[rows]
    twins = np.isin(rows, data.split.leaking)
    told = re.search(
        r"^\| as shipped \(float16\) \| ([\d.]+) % .*?\| ([\d.]+) % ", CARD.read_text(), re.M
    )
    found = [100 * right.mean(), 100 * right[~twins].mean()]
    assert found == pytest.approx([float(told[1]), float(told[2])], abs=0.06)
