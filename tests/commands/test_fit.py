import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from PIL import Image

from fer_lightning.data.faces import drawn_faces

CONFIGS = Path(__file__).parents[2] / "configs"


def read(path):
    return json.loads(Path(path).read_text())


def read_csv(path):
    return list(csv.DictReader(Path(path).read_text().splitlines()))


def test_fit_leaves_a_complete_folder(fit):
    code, out, err = fit()
    assert code == 0
    folder = Path("runs/vit-seed42")
    assert {p.name for p in folder.iterdir()} >= {
        "config.yaml",
        "run.json",
        "split.json",
        "metrics.csv",
        "predictions.npz",
        "summary.json",
        "checkpoints",
    }
    assert sorted(p.name for p in (folder / "checkpoints").iterdir()) == ["best.ckpt", "last.ckpt"]
    summary = read(folder / "summary.json")
    saved = np.load(folder / "predictions.npz")
    assert summary["completed"] is True
    assert summary["test"]["acc"] == np.mean(saved["logits"].argmax(1) == saved["label"])
    assert saved["row"].tolist() == sorted(read(folder / "split.json")["test"])
    assert summary["images"] == {"train": 224, "val": 28, "test": 28}
    assert summary["seed"] == 42
    assert any("drawn faces instead of FER-2013" in line for line in summary["substitutions"])
    rows = read_csv(folder / "metrics.csv")
    assert [row["epoch"] for row in rows] == ["0", "1"]
    best = rows[summary["best_epoch"]]
    assert float(best["val/acc"]) == pytest.approx(summary["val"]["acc"], rel=1e-5)
    for shown in ("accuracy", "macro-F1", "happy", "runs/vit-seed42", "drawn faces"):
        assert shown in out
    assert "epoch  2/2" in out
    assert "W&B is disabled" in err


def test_a_leaking_split_says_what_the_leak_is_worth(fit, tmp_path):
    faces = drawn_faces(70, with_masks=False)
    for k, (face, label) in enumerate(zip(faces.images, faces.labels, strict=True)):
        folder = tmp_path / "faces" / faces.classes[label]
        folder.mkdir(parents=True, exist_ok=True)
        for copy in "ab":
            Image.fromarray(face[0]).save(folder / f"{k}{copy}.png")
    source = ("--data.source=auto", "--data.data_dir=faces", "--data.duplicates=keep")
    code, out, _ = fit(*source, "--report=true", "--run_name=leaky")
    assert code == 0
    summary = read("runs/leaky/summary.json")
    found, images = summary["leaking"], summary["images"]["test"]
    assert 0 < found["images"] == summary["split"]["counts"]["test_with_twin_in_train"] < images
    right = found["acc"] * found["images"] + found["acc_others"] * (images - found["images"])
    assert right == pytest.approx(summary["test"]["acc"] * images)
    told = f"accuracy {found['acc']:.3f} there, {found['acc_others']:.3f} elsewhere"
    assert told in out
    assert "Accuracy there" in Path("runs/leaky/report.html").read_text()


def test_near_twins_are_kept_together_unless_told_otherwise(fit, run, tmp_path):
    blocks = np.random.default_rng(0).integers(0, 256, (70, 9, 9)).repeat(6, 1).repeat(6, 2)
    for k, picture in enumerate(blocks.astype(np.uint8)):
        folder = tmp_path / "faces" / ("happy", "sad")[k % 2]
        folder.mkdir(parents=True, exist_ok=True)
        for copy, start in (("a", 2), ("b", 3)):
            crop = picture[start : start + 48, start : start + 48]
            Image.fromarray(crop).save(folder / f"{k}{copy}.png")
    source = ("--data.source=auto", "--data.data_dir=faces", "--report=false")
    assert fit(*source, "--run_name=near")[0] == 0
    near = read("runs/near/summary.json")
    assert near["split"]["counts"]["test_with_near_twin_in_train"] == 0
    assert near["split"]["duplicates"] == read("runs/near/split.json")["duplicates"] == "near"
    assert yaml.safe_load(Path("runs/near/config.yaml").read_text())["data"]["duplicates"] == "near"
    assert fit(*source, "--run_name=near", "--resume")[0] == 0
    assert [path.name for path in Path("runs").iterdir()] == ["near"], "the same configuration"

    code, out, _ = fit(*source, "--data.duplicates=group", "--run_name=group")
    assert code == 0
    found = read("runs/group/summary.json")["near_twins"]
    rows = read("runs/group/split.json")["near_twins"]
    assert found["images"] == len(rows) > 0
    assert f"Note: {len(rows)} test images have a twin or near-twin" in out

    Path("runs/group/split.json").unlink()  # as in a slim copy or an older run
    code, out, _ = run("audit", "faces", "--runs", "runs", "--sheet", "pairs.png")
    assert code == 0
    assert "--data.duplicates=near unless told otherwise" in out
    assert read("runs/group/near_twins.json")["near_twins"] == rows
    assert read("runs/near/near_twins.json")["near_twins"] == []
    assert Image.open("pairs.png").size[0] > 500
    Path("faces/sad/0a.png").write_bytes(Path("faces/sad/1a.png").read_bytes())
    code, _, err = run("audit", "faces", "--runs", "runs")
    assert code == 2
    assert "expected the data set of" in err


def test_the_saved_config_repeats_the_run(fit, run):
    assert fit("--seed_everything=7", "--data.fraction=0.5")[0] == 0
    first = Path("runs/vit-50pct-seed7")
    assert run("fit", "--config", first / "config.yaml")[0] == 0
    second = Path("runs/vit-50pct-seed7-2")
    assert read(first / "summary.json")["test"] == read(second / "summary.json")["test"]
    a, b = (np.load(folder / "predictions.npz")["logits"] for folder in (first, second))
    np.testing.assert_array_equal(a, b)
    assert yaml.safe_load((first / "config.yaml").read_text())["data"]["fraction"] == 0.5


@pytest.mark.parametrize("command", ["validate", "test"])
def test_a_checkpoint_can_be_measured_again(fit, run, command):
    fit("--run_name=first")
    code, out, _ = run(
        command,
        "--config=runs/first/config.yaml",
        "--ckpt_path=runs/first/checkpoints/best.ckpt",
        "--run_name=again",
    )
    assert code == 0
    part = {"validate": "val", "test": "test"}[command]
    again, first = (read(f"runs/{name}/summary.json")[part] for name in ("again", "first"))
    assert {k: again[k] for k in ("acc", "nll", "confusion")} == {
        k: first[k] for k in ("acc", "nll", "confusion")
    }
    assert "accuracy" in out


def test_predict_writes_probabilities_for_each_file(fit, run):
    fit("--run_name=first")
    code, _, _ = run(
        "predict",
        "--config=runs/first/config.yaml",
        "--ckpt_path=runs/first/checkpoints/best.ckpt",
        "--run_name=p",
    )
    assert code == 0
    rows = read_csv("runs/p/predictions.csv")
    saved = np.load("runs/first/predictions.npz")
    assert len(rows) == len(saved["row"])
    p = torch.tensor(saved["logits"][0]).softmax(0)
    assert float(rows[0]["happy"]) == pytest.approx(p[3].item(), rel=1e-4)


def test_without_test_the_summary_has_validation_only(fit):
    assert fit("--test_after_fit=false")[0] == 0
    summary = read("runs/vit-seed42/summary.json")
    assert "test" not in summary
    assert summary["val"]["images"] == 28


def test_resuming_a_complete_run_shows_it_again(fit):
    fit()
    code, out, err = fit("--resume")
    assert code == 0
    assert "This run is complete" in err
    assert "accuracy" in out
    assert [p.name for p in Path("runs").iterdir()] == ["vit-seed42"]


def test_drawn_faces_announce_themselves(run):
    code, _, err = run(
        "fit", "--model.net=cnn", "--data.drawn.size=70", "--trainer.fast_dev_run=true"
    )
    assert code == 0
    assert "DRAWN FACES, NOT FER-2013" in err
    assert "--data.data_dir=PATH" in err


def test_gradient_clipping_and_recipe_options(fit):
    code, _, err = fit(
        "--trainer.gradient_clip_val=10",
        "--model.optimizer=adamw",
        "--model.weight_decay=0.01",
        "--model.schedule=cosine",
        "--model.warmup_epochs=1",
        "--model.label_smoothing=0.1",
        "--model.class_weights=balanced",
        "--data.augmentation.rotation=0",
        "--data.train_size=70",
    )
    assert code == 0, err
    assert read("runs/vit-seed42/summary.json")["images"]["train"] == 70


@pytest.mark.parametrize(
    "config",
    ["vit", *(pytest.param(c, marks=pytest.mark.slow) for c in ("cnn", "swin", "timm", "apvit"))],
)
def test_shipped_configs_train(fit, config):
    code, out, err = fit("--trainer.limit_train_batches=1", "--trainer.max_epochs=1", config=config)
    assert code == 0, err
    assert f"{config} on drawn faces" in out


def test_half_precision_is_one_flag(fit):
    assert fit("--trainer.precision=bf16-mixed", "--trainer.max_epochs=1")[0] == 0
    assert read("runs/vit-seed42/summary.json")["completed"] is True


@pytest.mark.slow
def test_compilation_is_one_flag(fit, run):
    assert fit("--model.compile=true", "--trainer.max_epochs=1")[0] == 0
    again = ("--ckpt_path=runs/vit-seed42/checkpoints/best.ckpt", "--run_name=plain")
    config = "--config=runs/vit-seed42/config.yaml"
    assert run("test", config, *again, "--model.compile=false")[0] == 0
    a, b = (np.load(f"runs/{name}/predictions.npz")["logits"] for name in ("vit-seed42", "plain"))
    np.testing.assert_allclose(a, b, atol=1e-4)


@pytest.mark.real_data
@pytest.mark.parametrize("config", ["cnn", "vit", "swin"])
def test_shipped_configs_train_on_fer2013(run, config):
    if "FER2013" not in os.environ:
        pytest.skip("set FER2013 to the path of the data set")
    code, out, err = run(
        "fit",
        *("--config", CONFIGS / f"{config}.yaml", "--data.data_dir", os.environ["FER2013"]),
        *("--data.fraction=0.3", "--trainer.max_epochs=1", "--trainer.limit_train_batches=2"),
        *("--trainer.limit_val_batches=1", "--trainer.limit_test_batches=1"),
    )
    assert code == 0, err
    assert f"{config} on FER-2013" in out
    assert "35,887 images" in err


def test_validation_after_every_other_epoch(fit):
    options = ("--trainer.max_epochs=4", "--trainer.check_val_every_n_epoch=2")
    assert fit(*options, "--data.drawn.size=70")[0] == 0
    folder = Path("runs/vit-seed42")
    rows, summary = read_csv(folder / "metrics.csv"), read(folder / "summary.json")
    assert [row["epoch"] for row in rows] == ["1", "3"]
    assert summary["epochs"] == 4
    assert summary["best_epoch"] in (1, 3)
    counted = sum(float(row["train/epoch_seconds"]) for row in rows)
    assert summary["seconds"] > counted - 0.1  # rounded; the other two epochs count as well
