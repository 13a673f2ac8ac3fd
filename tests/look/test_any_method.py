"""A method from outside the package is found everywhere, without touching package code."""

import csv
import json
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
import yaml

from fer_lightning.cli import main
from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.look.methods import METHODS, explain, find_method, method
from fer_lightning.look.methods.captum import captum_method
from fer_lightning.models import CNN
from fer_lightning.runs.run import Run


@pytest.fixture
def brightness():
    """Heat is the picture itself."""

    @method("brightness", title="Brightness", about="the picture itself", knows_class=False)
    def maps(model, images, target, batch_size):
        return images.mean(1)

    yield "brightness"
    METHODS.pop("brightness")


@pytest.fixture
def folder(tmp_path, monkeypatch, brightness):
    """A run of one epoch with the method in a picture and in a curve."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "disabled")
    callbacks = [
        {
            "class_path": "fer_lightning.callbacks.FocusCallback",
            "init_args": {"samples": 8, "methods": ["grad_cam", "brightness"]},
        },
        {
            "class_path": "fer_lightning.callbacks.GradCAMCallback",
            "init_args": {"samples": 14, "method": "brightness"},
        },
    ]
    config = {
        "model": {"net": {"class_path": "fer_lightning.models.CNN"}},
        "data": {"source": "drawn", "drawn": {"size": 140, "image_size": 32}, "batch_size": 64},
        "trainer": {"max_epochs": 1, "callbacks": callbacks, "enable_progress_bar": False},
        "run_name": "outside",
    }
    config["model"]["net"]["init_args"] = {"widths": [4, 4, 4, 4], "feature_width": 8}
    Path("config.yaml").write_text(yaml.safe_dump(config))
    assert main(["fit", "--config=config.yaml"]) == 0
    return Path("runs/outside")


def rows(path):
    return list(csv.DictReader(Path(path).read_text().splitlines()))


def test_in_callbacks_focus_explain_and_the_report(folder, brightness, capsys):
    assert (folder / "brightness/epoch_000.png").is_file()
    assert (folder / "focus_brightness/test.png").is_file()
    metrics = rows(folder / "metrics.csv")[0]
    assert float(metrics["val/lfr/brightness/key"]) != float(metrics["val/lfr/key"])
    assert {row["method"] for row in rows(folder / "focus_epochs.csv")} == {
        "grad_cam",
        "brightness",
    }
    assert {row["method"] for row in rows(folder / "focus.csv")} == {"grad_cam", "brightness"}
    with np.load(folder / "maps.npz") as maps:
        assert maps["heat_brightness"].shape == maps["heat"].shape
    report = (folder / "report.html").read_text()
    assert "brightness" in report

    checkpoint = folder / "checkpoints/best.ckpt"
    for name in ("brightness", "hires_cam"):
        assert main(["focus", f"--checkpoint={checkpoint}", f"--method={name}", "--n=6"]) == 0
    assert "Maps: Brightness" in capsys.readouterr().out
    for name in ("focus", "focus_samples", "hiding", "randomisation"):
        found = [row["method"] for row in rows(folder / f"controls/{name}.csv")]
        assert list(dict.fromkeys(found)) == ["brightness", "hires_cam"], name
    run = Run(folder, "cnn", 1.0, 42, summary=json.loads((folder / "summary.json").read_text()))
    assert run.methods == ["brightness", "hires_cam"]
    assert set(run.focus_by("focus_samples", "brightness")["method"]) == {"brightness"}
    assert len(run.focus) == 0  # nobody measured the paper's method in these controls

    face = FERDataModule(source="drawn", drawn=Drawn(size=7)).image_set.images[0, 0]
    cv2.imwrite("face.png", face)
    options = ["--images=face.png", "--out=explained", "--method=brightness"]
    assert main(["explain", f"--checkpoint={checkpoint}", *options]) == 0
    told = json.loads(next(Path("explained").glob("*.json")).read_text())
    assert (told["method"], told["maps"]) == ("brightness", "the picture itself")


def test_an_entry_point_is_found(monkeypatch):
    class Entry:
        name = "from_elsewhere"

        @staticmethod
        def load():
            method("from_elsewhere")(lambda model, images, target, batch_size: images[:, 0])

    where = "fer_lightning.look.methods.registry.entry_points"
    monkeypatch.setattr(where, lambda group: [Entry] if group == "fer_lightning.methods" else [])
    try:
        maps = explain(CNN(), torch.rand(2, 1, 48, 48), method="from_elsewhere")
        assert maps.shape == (2, 48, 48)
    finally:
        METHODS.pop("from_elsewhere")


def test_captum_gives_what_captum_gives():
    captum_attr = pytest.importorskip("captum.attr")
    torch.manual_seed(0)
    model, images = CNN(image_size=16, widths=(4, 4, 4, 4)).eval(), torch.rand(3, 1, 16, 16)
    target = torch.tensor([0, 3, 6])
    try:
        captum_method("input_x_gradient", captum_attr.InputXGradient)
        found = explain(model, images, target, "input_x_gradient", batch_size=2)
    finally:
        METHODS.pop("input_x_gradient")
    expected = captum_attr.InputXGradient(model).attribute(images.requires_grad_(), target=target)
    torch.testing.assert_close(found, expected.sum(1).detach())


def test_names_of_before_and_bad_ones(brightness):
    assert find_method("occlusion_map").name == "occlusion"
    with pytest.raises(UserError, match="'brightness' is taken"):
        method("brightness")(lambda model, images, target, batch_size: images)
    with pytest.raises(UserError, match="letters, digits and _"):
        method("a/b")
    with pytest.raises(UserError, match="did you mean 'brightness'"):
        find_method("brightnes")


def test_maps_of_a_wrong_shape():
    method("wrong")(lambda model, images, target, batch_size: images)
    try:
        with pytest.raises(UserError, match=r"maps of shape \(2, h, w\) from method 'wrong'"):
            explain(CNN(), torch.rand(2, 1, 48, 48), method="wrong")
    finally:
        METHODS.pop("wrong")
