"""Weights from elsewhere, adapted where they can be, refused where they are of something else."""

import pickle

import pytest
import timm
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from fer_lightning.errors import UserError
from fer_lightning.models import CNN, Timm, ViT, read_weights
from fer_lightning.models.weights import load_pretrained, tell


def body(model):
    return tuple(start for starts in model.parts.values() for start in starts)


def load(model, path, **options):
    return load_pretrained(model, str(path), "body", body(model), **options)


def vit(**options):
    return ViT(dim=16, depth=1, heads=2, **options)


@pytest.mark.parametrize("kind", ["safetensors", "state_dict", "ours"])
def test_every_kind_of_file(tmp_path, kind):
    source, model = vit(num_classes=3), vit()
    weights = source.state_dict()
    if kind == "safetensors":
        save_file(weights, path := tmp_path / "a.safetensors")
    elif kind == "state_dict":
        torch.save(weights, path := tmp_path / "a.pt")
    else:  # as the LightningModule saves them, with the weights of a loss beside
        inside = {f"net.{name}": value for name, value in weights.items()}
        content = {"state_dict": inside | {"loss.weight": torch.zeros(1)}, "epoch": 3}
        torch.save(content, path := tmp_path / "a.ckpt")
    report = load(model, path)
    assert torch.equal(model.pos_embed, source.pos_embed)
    assert report["loaded"] == report["wanted"] == len(weights) - 2
    assert len(model.head.bias) == 7


def test_a_checkpoint_of_ours_gives_a_backbone_its_weights(tmp_path):
    source = Timm(name="test_vit", num_classes=3)
    inside = {f"net.{name}": value for name, value in source.state_dict().items()}
    torch.save({"state_dict": inside}, tmp_path / "a.ckpt")
    assert "head.weight" in read_weights(tmp_path / "a.ckpt")
    model = Timm(name="test_vit", weights=str(tmp_path / "a.ckpt"), preprocess=False)
    assert torch.equal(model.backbone.norm.weight, source.backbone.norm.weight)


def test_timm_file_for_another_size_and_grey_images(tmp_path):
    theirs = timm.create_model("test_vit", num_classes=5)  # 160x160, colour
    torch.save(theirs.state_dict(), tmp_path / "a.pth")
    model = Timm(name="test_vit", image_size=48, in_chans=1)
    report = load(model, tmp_path / "a.pth")
    assert report["adapted"].keys() == {"backbone.pos_embed", "backbone.patch_embed.proj.weight"}
    assert report["unexpected"] == report["missing"] == []
    grey = theirs.patch_embed.proj.weight.sum(1, keepdim=True)
    torch.testing.assert_close(model.backbone.patch_embed.proj.weight, grey)
    assert torch.equal(model.backbone.norm.weight, theirs.norm.weight)
    assert "2 adapted (backbone.pos_embed, backbone.patch_embed.proj.weight)" in tell(report)


def test_a_resnet_file_with_its_classifier(tmp_path):
    theirs = timm.create_model("resnet18", num_classes=1000)
    torch.save(theirs.state_dict(), tmp_path / "a.pth")
    report = load(Timm(in_chans=1), tmp_path / "a.pth")
    assert report["unexpected"] == ["fc.weight", "fc.bias"]
    assert list(report["adapted"]) == ["backbone.conv1.weight"]


def test_positions_of_another_grid_are_interpolated(tmp_path):
    source, model = vit(image_size=24), vit(image_size=48)  # 4x4 and 8x8 patches
    torch.save(source.state_dict(), tmp_path / "a.pt")
    assert (
        "[1, 17, 16] in the file, [1, 65, 16]"
        in load(model, tmp_path / "a.pt")["adapted"]["pos_embed"]
    )
    assert torch.equal(model.pos_embed[:, 0], source.pos_embed[:, 0])  # [CLS]
    grid = source.positions.permute(2, 0, 1)[None]
    expected = F.interpolate(grid, (8, 8), mode="bicubic", antialias=True)[0].permute(1, 2, 0)
    torch.testing.assert_close(model.positions, expected)


@pytest.mark.parametrize(("before", "after"), [(3, 1), (1, 3), (3, 6), (1, 2)])
@pytest.mark.parametrize("make", [vit, lambda **o: CNN(feature_width=8, **o)])
def test_a_grey_image_gives_the_same_features_in_other_channels(tmp_path, make, before, after):
    source, model = make(in_chans=before).eval(), make(in_chans=after).eval()
    torch.save(source.state_dict(), tmp_path / "a.pt")
    load(model, tmp_path / "a.pt")
    grey = torch.rand(2, 1, 48, 48)
    expected = source.features(grey.expand(-1, before, -1, -1))
    torch.testing.assert_close(
        model.features(grey.expand(-1, after, -1, -1)), expected, rtol=1e-4, atol=1e-5
    )


def test_what_does_not_fit_is_told_and_left(tmp_path):
    source, model = CNN(image_size=32, feature_width=8), CNN(feature_width=8)
    weights = source.state_dict()
    del weights["stages.norm2.weight"]
    torch.save(weights | {"extra": torch.zeros(1)}, tmp_path / "a.pt")
    before = model.feature_layer[1].weight.clone()
    report = load(model, tmp_path / "a.pt")
    assert report["missing"] == ["stages.norm2.weight"]
    assert report["unexpected"] == ["extra"]
    assert list(report["other_shape"]) == ["feature_layer.1.weight"]
    assert torch.equal(model.feature_layer[1].weight, before)
    assert torch.equal(model.stages.conv4.weight, source.stages.conv4.weight)
    assert "1 missing in it, left new (stages.norm2.weight)" in tell(report)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (CNN(feature_width=8), r"body of ViT but .* differs: \d+ missing \(cls_token, \.\.\.\)"),
        (ViT(dim=32, depth=1, heads=2), r"\d+ of another shape \(cls_token: \[1, 1, 32\], not"),
    ],
)
def test_another_architecture_is_refused(tmp_path, other, message):
    torch.save(other.state_dict(), tmp_path / "a.pt")
    model = vit()
    before = model.pos_embed.clone()
    with pytest.raises(UserError, match=message):
        load(model, tmp_path / "a.pt")
    assert torch.equal(model.pos_embed, before)


def test_a_head_of_other_classes_is_not_kept(tmp_path):
    torch.save(vit(num_classes=3).state_dict(), tmp_path / "a.pt")
    with pytest.raises(UserError, match=r"head of the same classes .* set transfer.head to new"):
        load(vit(), tmp_path / "a.pt", keep_head=True)


def test_pickled_objects_are_refused(tmp_path):
    (tmp_path / "a.pt").write_bytes(pickle.dumps({"state_dict": vit()}, protocol=2))
    with pytest.raises(UserError, match="could execute code"):
        load(vit(), tmp_path / "a.pt")
