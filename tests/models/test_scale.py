"""Images standardised by the model itself, and what that does to its features at the start."""

import pytest
import torch
from outside_net import OutsideNet

from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.look.controls.null_maps import untrained_twin
from fer_lightning.look.methods import explain
from fer_lightning.models import CNN, MODELS, APViT112, Swin, Timm, create_model, describe, rebuild

SCALING = [name for name in MODELS if name not in ("apvit_112", "timm")]


@pytest.mark.parametrize("name", SCALING)
def test_a_model_with_a_scale_answers_as_to_scaled_images(name):
    torch.manual_seed(0)
    model = create_model(name, in_chans=1, image_size=48).eval()
    images = torch.rand(2, 1, 48, 48)
    with torch.no_grad():
        expected = model((images - 0.5) / 0.25)
        weights = {name: value.clone() for name, value in model.state_dict().items()}
        model.set_scale([0.5], [0.25])
        torch.testing.assert_close(model(images), expected)
        assert model.state_dict().keys() == weights.keys()
        model.set_scale()
        assert not torch.allclose(model(images), expected)


def test_attention_and_gradients_see_the_scale():
    model = create_model("vit", dim=16, depth=2, heads=2).eval()
    images = torch.rand(2, 1, 48, 48)
    logits, maps = model.attend((images - 0.4) / 0.2)
    model.set_scale([0.4], [0.2])
    again, also = model.attend(images)
    torch.testing.assert_close(again, logits)
    torch.testing.assert_close(also[-1], maps[-1])
    assert explain(model, images, None, "gradient").shape == (2, 48, 48)
    assert model.scale == {"mean": [pytest.approx(0.4)], "std": [pytest.approx(0.2)]}


def test_a_description_carries_the_scale_and_is_not_trusted():
    model = create_model("cnn")
    assert "scale" not in describe(model)  # checkpoints of before are alike
    model.set_scale([0.5], [0.1])
    description = describe(model)
    assert rebuild(description).scale == model.scale == untrained_twin(model, 0).scale
    for bad in ("x", {"mean": ["a"], "std": [1.0]}, {"mean": [0.5, 0.5], "std": [1.0, 1.0]}):
        with pytest.raises(UserError, match="expected"):
            rebuild({**description, "scale": bad})
    for mean, std in (([0.5], [0.0]), ([float("nan")], [1.0]), ([0.5], [])):
        with pytest.raises(UserError, match="positive standard deviation"):
            model.set_scale(mean, std)


def test_models_that_cannot_standardise_say_so():
    with pytest.raises(UserError, match="OutsideNet does not begin with"):
        OutsideNet().set_scale([0.5], [0.2])
    tiny = APViT112(image_size=32, keep_patches=9, units=(1, 1, 1), dim=32, depth=2)
    with pytest.raises(UserError, match="APViT112 scales them itself"):
        tiny.set_scale([0.5] * 3, [0.2] * 3)
    assert OutsideNet().scale is None
    Timm().set_scale([0.5], [0.2])
    with pytest.raises(UserError, match="Timm scales them itself"):
        Timm(preprocess=True, input_size=32).set_scale([0.5], [0.2])


def test_swin_starts_as_before_unless_it_is_asked_to():
    torch.manual_seed(3)
    before = Swin()
    torch.manual_seed(3)
    xavier = Swin(init="xavier")
    small = before.get_submodule("backbone.layers.0.blocks.0.mlp.fc1").weight
    large = xavier.get_submodule("backbone.layers.0.blocks.0.mlp.fc1").weight
    assert small.std().item() == pytest.approx(0.02, rel=0.05)
    assert large.abs().max().item() == pytest.approx((6 / (36 + 144)) ** 0.5, rel=0.01)
    assert xavier.state_dict().keys() == before.state_dict().keys()
    with pytest.raises(UserError, match="expected init"):
        Swin(init="orthogonal")


def share_between_images(model, images):
    """Share of the features' power that differs between images."""
    with torch.no_grad():
        features = model.eval().features(images)
    return (features.var(0, correction=0).sum() / features.square().mean(0).sum()).item()


@pytest.mark.parametrize(
    ("name", "options", "most_unit", "least_standard"),
    [("vit", {}, 0.05, 0.3), ("swin", {}, 0.1, 0.15), ("swin", {"init": "xavier"}, 0.1, 0.15)],
)
def test_features_at_the_start_differ_more_with_standardised_images(
    name, options, most_unit, least_standard
):
    data = FERDataModule(source="drawn", drawn=Drawn(size=100), scale="standard")
    images = torch.from_numpy(data.image_set.images).float() / 255
    torch.manual_seed(0)
    model = create_model(name, **options)
    unit = share_between_images(model, images)
    model.set_scale(**data.pixel_scale)
    standard = share_between_images(model, images)
    assert unit < most_unit
    assert standard > least_standard
    assert standard > 5 * unit


def test_the_cnn_takes_a_scale_too():
    model = CNN()
    model.set_scale([0.5], [0.5])
    assert model.scaled(torch.zeros(1, 1, 1, 1)).item() == -1
