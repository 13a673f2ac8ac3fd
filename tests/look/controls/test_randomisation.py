import pytest
import torch

from fer_lightning.look.controls.null_maps import untrained_twin
from fer_lightning.look.controls.randomisation import (
    layers_top_down,
    randomisation,
    stages_top_down,
)
from fer_lightning.look.heat import to_heat
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.look.metrics.summary import pearson
from fer_lightning.models import CNN, ViT


def tiny_cnn():
    torch.manual_seed(0)
    return CNN(image_size=16, widths=(4, 4, 4, 4), feature_width=8)


def tiny_vit():
    torch.manual_seed(0)
    return ViT(image_size=24, dim=16, depth=2, heads=2)


def test_layers_go_from_the_head_to_the_input():
    expected = ["head", "feature_layer.1", "stages.norm4", "stages.conv4", "stages.conv3"]
    expected += ["stages.norm2", "stages.conv2", "stages.conv1"]
    assert layers_top_down(tiny_cnn()) == expected
    vit = layers_top_down(tiny_vit())
    assert vit[:2] == ["head", "norm"]
    assert vit[-1] == ""  # positions and [CLS]


def test_no_parameter_is_forgotten():
    for model in (tiny_cnn(), tiny_vit()):
        names = layers_top_down(model)
        owned = sum(p.numel() for n in names for p in model.get_submodule(n).parameters(False))
        assert owned == sum(p.numel() for p in model.parameters())


def test_stages_start_with_the_head_alone():
    assert stages_top_down(list("abcdefg"), 4) == [["a"], ["b", "c"], ["d", "e"], ["f", "g"]]
    assert stages_top_down(list("abc"), 9) == [["a"], ["b"], ["c"]]
    assert stages_top_down(["a"], 3) == [["a"]]


@pytest.mark.parametrize("make", [tiny_cnn, tiny_vit])
def test_the_last_stage_is_the_untrained_twin(make):
    model = make()
    side = model.init_args["image_size"]
    images = torch.rand(6, 1, side, side, generator=torch.Generator().manual_seed(1))
    rows = randomisation(model, images, seed=7, stages=3)
    assert [row["stage"] for row in rows] == [1, 1, 2, 2, 3, 3]
    assert rows[-1]["parameters"] == 1.0
    own = grad_cam(model, images)
    twin = grad_cam(untrained_twin(model, 7), images, own.target)
    for row, a, b in (
        (rows[-2], own.signed, twin.signed),
        (rows[-1], to_heat(own.signed, side), to_heat(twin.signed, side)),
    ):
        expected = pearson(a.flatten(1), b.flatten(1))
        assert row["pearson"] == pytest.approx(expected.nanmean().item(), nan_ok=True)
        assert row["undefined"] == expected.isnan().sum()


def test_the_first_stage_changes_the_head_only():
    model = tiny_cnn()
    images = torch.rand(6, 1, 16, 16)
    row = randomisation(model, images, seed=7, stages=3)[0]
    half = tiny_cnn()
    half.load_state_dict(model.state_dict())
    half.head.load_state_dict(untrained_twin(model, 7).head.state_dict())
    own = grad_cam(model, images)
    changed = grad_cam(half, images, own.target).signed
    assert row["layer"] == "head"
    expected = pearson(own.signed.flatten(1), changed.flatten(1)).nanmean().item()
    assert row["pearson"] == pytest.approx(expected)


def test_a_model_that_is_its_own_twin_keeps_its_maps():
    model = untrained_twin(tiny_cnn(), 7)
    rows = randomisation(model, torch.rand(4, 1, 16, 16), seed=7)
    signed = [row for row in rows if row["map"] == "signed"]
    assert [row["pearson"] for row in signed] == pytest.approx([1.0] * len(signed))
    assert [row["same_prediction"] for row in rows] == [1.0] * len(rows)


def test_the_model_is_not_changed():
    model = tiny_cnn()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    randomisation(model, torch.rand(2, 1, 16, 16), stages=2)
    assert model.training
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=0)
