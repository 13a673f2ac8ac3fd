"""``fer-lightning models``."""

import pytest

from fer_lightning.commands.models import main
from fer_lightning.models import MODELS


def test_lists_every_model(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(entry.config in out for entry in MODELS.values())  # none is cut
    assert all(entry.source in out for entry in MODELS.values())
    for word in ("cnn", "1,278,631", "vit", "807,431", "swin", "719,077", "timm", "vit.yaml"):
        assert word in out
    assert "65,209,543" in out  # apvit_112, at its own 112x112x3
    assert "expected" not in out  # each model fits its own images
    assert "147.6" in out  # MFLOPs of the CNN


def test_other_images(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["--image-size", "32", "--in-chans", "3", "--num-classes", "10"]) == 0
    out = capsys.readouterr().out
    assert "32x32x3" in out
    assert "48x48x1" not in out
    for word in ("1,205,898", "141,354", "175,258", "Patches vs Pixels", "cifar/vit_tiny.yaml"):
        assert word in out
    assert "divisible" in out  # ViT's patches of 6 pixels do not fit: its row says so


def test_bad_option():
    with pytest.raises(SystemExit, match="2"):
        main(["--image-size", "large"])
