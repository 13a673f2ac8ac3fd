"""timm backbones: preprocessing, weight files, mistakes."""

import pytest
import timm
import torch
from safetensors.torch import save_file

from fer_lightning.errors import UserError
from fer_lightning.models import NoAttentionError, Timm, describe, rebuild


def inputs_of(model, images):
    """What the backbone gets to see."""
    seen = []
    handle = model.backbone.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    model.forward(images)
    handle.remove()
    return seen[0]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A file as timm publishes it: colour, its own size, a thousand classes."""
    torch.manual_seed(0)
    backbone = timm.create_model("test_vit")
    path = tmp_path_factory.mktemp("weights") / "test_vit.safetensors"
    save_file(backbone.state_dict(), path)
    return backbone, path


def test_scratch_backbone_takes_the_images_as_they_are():
    model = Timm(in_chans=1, image_size=48, name="test_resnet").eval()
    images = torch.rand(2, 1, 48, 48)
    assert torch.equal(inputs_of(model, images), images)


def test_published_weights_get_their_own_input(published):
    _, path = published
    model = Timm(name="test_vit", weights=str(path)).eval()
    seen = inputs_of(model, torch.full((2, 1, 48, 48), 0.25))
    config = timm.get_pretrained_cfg("test_vit")
    expected = (0.25 - torch.tensor(config.mean)) / torch.tensor(config.std)
    assert seen.shape == (2, 3, 160, 160)
    assert torch.allclose(seen, expected.view(1, 3, 1, 1), atol=1e-5)


def test_colour_images_keep_their_colours(published):
    _, path = published
    model = Timm(in_chans=3, image_size=160, name="test_vit", weights=str(path)).eval()
    images = torch.rand(1, 3, 160, 160)
    config = timm.get_pretrained_cfg("test_vit")
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (config.mean, config.std))
    assert torch.allclose(inputs_of(model, images), (images - mean) / std, atol=1e-5)


def test_features_are_those_of_the_published_backbone(published):
    backbone, path = published
    model = Timm(in_chans=3, image_size=160, name="test_vit", weights=str(path)).eval()
    images = torch.rand(1, 3, 160, 160)
    prepared = inputs_of(model, images)
    backbone.eval()
    expected = backbone.forward_head(backbone.forward_features(prepared), pre_logits=True)
    assert torch.allclose(model.features(images), expected, atol=1e-5)


def test_positions_are_resampled_for_another_input_size(published):
    _, path = published
    model = Timm(name="test_vit", weights=str(path), input_size=64).eval()
    assert model.layout.grid == (4, 4)
    assert model(torch.rand(1, 1, 48, 48)).shape == (1, 7)


def test_memory_of_the_file_is_not_kept(published):
    _, path = published
    model = Timm(name="test_vit", weights=str(path))
    assert "state_dict" not in model.backbone.pretrained_cfg


@pytest.mark.parametrize("container", [None, "state_dict", "model"])
def test_torch_checkpoints_of_weights(tmp_path, container):
    backbone = timm.create_model("test_resnet", num_classes=5)
    state = {f"module.{key}": value for key, value in backbone.state_dict().items()}
    torch.save({container: state, "epoch": 3} if container else state, tmp_path / "a.pth")
    model = Timm(name="test_resnet", weights=str(tmp_path / "a.pth"))
    assert torch.equal(model.backbone.conv1[0].weight, backbone.conv1[0].weight)


def test_weights_of_our_own_model(tmp_path):
    source = Timm(in_chans=3, name="test_resnet")
    torch.save(source.state_dict(), tmp_path / "ours.pt")
    model = Timm(name="test_resnet", weights=str(tmp_path / "ours.pt"))
    assert torch.equal(model.backbone.conv1[0].weight, source.backbone.conv1[0].weight)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("test_efficientnet", r"test_efficientnet.* differs: \d+ missing \(.*\d+ unexpected"),
        ("test_vit2", r"test_vit2.* differs: \d+ missing"),
        ("test_vit3", r"of another shape \(.*: \["),
    ],
)
def test_weights_of_another_architecture(published, name, message):
    _, path = published
    with pytest.raises(UserError, match=message):
        Timm(name=name, weights=str(path))


def test_unknown_backbone():
    with pytest.raises(UserError, match=r"got 'resnet81'; did you mean 'resnet18'\?"):
        Timm(name="resnet81")
    with pytest.raises(UserError, match=r"timm\.list_models"):
        Timm(name="qqqqqqqqqqqqqqqq")
    with pytest.raises(UserError, match=r"published weights of 'resnet18' but got 'a1_in2k'"):
        Timm(name="resnet18.a1_in2k")


def test_missing_file():
    with pytest.raises(UserError, match=r"there is none at nowhere\.pt"):
        Timm(name="test_resnet", weights="nowhere.pt")


def test_no_network(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match=r"no network.*local file by weights="):
        Timm(name="test_resnet", pretrained=True)


def test_no_published_weights():
    name = next(n for n in timm.list_models() if not timm.get_pretrained_cfg(n).has_weights)
    with pytest.raises(UserError, match="timm has none for"):
        Timm(name=name, pretrained=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "test_vit", "image_size": 50}, "input_size divisible by 16"),
        ({"name": "inception_v3", "image_size": 16}, "larger input_size"),
        ({"preprocess": True, "in_chans": 4}, "1 or 3 channels"),
        ({"input_size": 0}, "input_size of at least 1"),
        ({"num_classes": 0}, "num_classes of at least 1"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(UserError, match=message):
        Timm(**arguments)


def test_windowed_attention_is_no_map():
    model = Timm(name="swin_tiny_patch4_window7_224", image_size=64)
    with pytest.raises(NoAttentionError, match="windowed"):
        model.attention_maps(torch.rand(1, 1, 64, 64))


def test_a_backbone_without_a_grid_still_classifies():
    model = Timm(name="cait_xxs24_224", image_size=48).eval()
    assert model(torch.rand(1, 1, 48, 48)).shape == (1, 7)
    with pytest.raises(UserError, match="features keep their places but got cait_xxs24_224"):
        _ = model.cam_layer


def test_attention_with_normalised_queries_and_rotations():
    """qk_norm and rotary positions change attention before the softmax; all must be seen."""
    model = Timm(name="test_vit4", image_size=48).eval()
    images = torch.rand(2, 1, 48, 48)
    logits, maps = model.attend(images)
    assert torch.allclose(logits, model.forward(images), atol=1e-5)
    assert torch.allclose(maps[0].sum(-1), torch.ones(()), atol=1e-5)


def test_scratch_control_of_a_transfer():
    control = Timm(name="test_resnet", preprocess=True).eval()
    assert inputs_of(control, torch.rand(1, 1, 48, 48)).shape == (1, 3, 160, 160)
    assert rebuild(describe(control)).preprocess is True
