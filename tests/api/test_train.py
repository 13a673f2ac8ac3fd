"""``train`` makes the run folder of the command line, and ``load_run`` reads it."""

import json

import numpy as np
import pytest
import torch
import yaml

import fer_lightning as fl
from fer_lightning.callbacks import ConfusionCallback
from fer_lightning.cli import main
from fer_lightning.errors import UserError


def test_run_folder(trained):
    _, run = trained
    written = {path.name for path in run.path.iterdir()}
    assert {"config.yaml", "run.json", "split.json", "metrics.csv", "summary.json"} <= written
    assert {"predictions.npz", "checkpoints", "tensorboard", "report.html"} <= written
    assert run.report == run.path / "report.html"
    assert json.loads((run.path / "run.json").read_text())["command"] == "fer_lightning.train"


def test_what_a_run_tells(trained, faces):
    _, run = trained
    assert run.name == "cnn-100pct-seed42"
    assert list(run.metrics["epoch"]) == [0, 1]
    assert run.accuracy == pytest.approx(run.predictions.correct.mean())
    assert np.array_equal(run.predictions.row, np.sort(faces.split.test))
    assert run.focus.empty  # nobody looked
    assert "test accuracy" in repr(run)


def test_the_model_has_the_weights_that_were_tested(trained, faces):
    model, run = trained
    assert not model.training
    loaded = run.model()
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, loaded.state_dict()[name])
    row = run.predictions.row
    images = torch.from_numpy(faces.image_set.images[row]).float() / 255
    with torch.no_grad():
        assert np.allclose(loaded(images).numpy(), run.predictions.logits, atol=1e-4)


def test_the_data_come_back(trained, faces):
    _, run = trained
    assert np.array_equal(run.data().test.rows, faces.test.rows)
    assert np.array_equal(run.data().test.images, faces.test.images)


def test_the_command_line_repeats_the_run(faces, tmp_path, monkeypatch):
    """Its config.yaml holds everything: the same answers come out."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "disabled")
    run = fl.train("simple_cnn", faces, max_epochs=1, seed=3, report=False, quiet=True)
    assert run.path.resolve() == (tmp_path / "runs" / "simple_cnn-seed3").resolve()
    options = ["--report=false", "--trainer.enable_progress_bar=false", "--run_name=again"]
    assert main(["fit", "--config", str(run.path / "config.yaml"), *options]) == 0
    again = fl.load_run("runs/again")
    assert np.array_equal(again.predictions.logits, run.predictions.logits)


def test_by_name_with_callbacks_and_arrays(tmp_path):
    rng = np.random.default_rng(0)
    data = fl.load_data(rng.integers(0, 256, (60, 12, 12), np.uint8), np.arange(60) % 2)
    options = {"max_epochs": 1, "report": False, "quiet": True, "tensorboard": False}
    run = fl.train(
        "cnn", data, callbacks=[ConfusionCallback()], run_dir=tmp_path / "run", **options
    )
    assert (run.path / "confusion" / "test.png").is_file()
    text = (run.path / "config.yaml").read_text()
    assert text.startswith("# the pictures were given as arrays")
    assert "# callbacks given as objects: ConfusionCallback" in text
    assert yaml.safe_load(text)["trainer"] == {"max_epochs": 1}
    again = fl.train("cnn", data, run_dir=tmp_path / "run", **options)
    assert again.path.name == "run-2"
    assert np.array_equal(again.predictions.logits, run.predictions.logits)  # the same seed


def test_resume_says_that_the_run_is_complete(trained, faces, capsys):
    model, run = trained
    twin = fl.create_model("cnn", **model.init_args)
    again = fl.train(twin, faces, max_epochs=2, lr=1e-3, run_dir=run.path, resume=True)
    assert again.path == run.path
    assert "This run is complete" in capsys.readouterr().err


def test_nothing_to_resume(faces, tmp_path):
    with pytest.raises(UserError, match="a run of this configuration to go on with"):
        fl.train("cnn", faces, run_dir=tmp_path / "run", resume=True, quiet=True)


def test_a_model_for_other_images(faces, tmp_path):
    with pytest.raises(UserError, match=r"image_size 48 instead of 32; make it by create_model"):
        fl.train(fl.create_model("cnn"), faces, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_no_run(tmp_path):
    with pytest.raises(UserError, match="expected a complete run"):
        fl.load_run(tmp_path)
