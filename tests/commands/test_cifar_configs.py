"""The configs of "Patches vs Pixels" on a tiny set like CIFAR-10: ten classes, 32x32, colour."""

import csv
import json
from pathlib import Path

import cv2
import numpy as np
import pytest

CONFIGS = Path(__file__).parents[2] / "configs" / "cifar"
CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)


@pytest.fixture
def cifar(tmp_path):
    """Train and test folders of 8 and 4 pictures a class, as the archive of the subset has them."""
    rng = np.random.default_rng(0)
    for part, count in (("train", 8), ("test", 4)):
        for name in CLASSES:
            folder = tmp_path / "cifar10" / part / name
            folder.mkdir(parents=True)
            for i in range(count):
                picture = rng.integers(0, 256, (32, 32, 3), np.uint8)
                cv2.imwrite(str(folder / f"{i:04d}.png"), picture)
    return tmp_path / "cifar10"


def fit(run, cifar, name, *options):
    return run(
        *("fit", "--config", CONFIGS / f"{name}.yaml", f"--data.data_dir={cifar}"),
        *("--trainer.max_epochs=2", "--data.batch_size=20", "--run_name=r", *options),
    )


@pytest.mark.parametrize(
    ("name", "pictures"),
    [
        ("vit_tiny", {"gradcam", "tsne", "confusion", "attention", "positions"}),
        pytest.param("simple_cnn", {"gradcam", "tsne", "confusion"}, marks=pytest.mark.slow),
        pytest.param("small_resnet", {"gradcam", "tsne", "confusion"}, marks=pytest.mark.slow),
    ],
)
def test_every_picture_is_drawn(run, cifar, name, pictures):
    code, _, err = fit(run, cifar, name, "--trainer.max_epochs=1")
    assert code == 0
    assert "leaves this run out" not in err
    for picture in pictures:
        assert Path("runs/r", picture, "test.png").is_file()
    summary = json.loads(Path("runs/r/summary.json").read_text())
    assert summary["model"] == name
    assert summary["images"] == {"train": 80, "val": 40, "test": 40}
    assert summary["classes"] == list(CLASSES)


def test_best_and_last_epoch_are_told_apart(run, cifar):
    quiet = ("--trainer.callbacks=[]", "--trainer.max_epochs=4")
    code, out, err = fit(run, cifar, "simple_cnn", *quiet)
    assert code == 0
    assert "the best epoch's accuracy is optimistic, the last epoch's is honest" in err
    assert "test, best epoch (optimistic)" in out
    assert "test, last epoch" in out
    summary = json.loads(Path("runs/r/summary.json").read_text())
    with Path("runs/r/metrics.csv").open() as file:
        epochs = [row for row in csv.DictReader(file) if row["val/acc"]]
    best, last = epochs[summary["best_epoch"]], epochs[-1]
    assert best["val/acc"] == max(row["val/acc"] for row in epochs)
    assert best["val/loss"] != last["val/loss"]
    assert summary["val"]["nll"] == pytest.approx(float(best["val/loss"]), rel=1e-5)
    assert summary["test"]["nll"] == pytest.approx(float(last["val/loss"]), rel=1e-5)
    assert summary["split"]["protocol"] == "train_test"
    assert "optimistic" in summary["split"]["notes"][0]


def test_a_tenth_of_training_can_choose_the_epoch_instead(run, cifar):
    code, out, err = fit(
        run, cifar, "simple_cnn", "--data.split=official", "--trainer.callbacks=[]"
    )
    assert code == 0
    assert "optimistic" not in out + err
    summary = json.loads(Path("runs/r/summary.json").read_text())
    assert summary["images"] == {"train": 72, "val": 8, "test": 40}
