"""Regulariser and weighting from the command line: they train, resume, and refuse in a sentence."""

import csv
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from fer_lightning.training.callbacks.epoch_seed import seed_epoch

BOTH = [
    *("--model.regulariser.weight=0.2", "--model.weighting.kl=0.1"),
    *("--data.drawn.size=140", "--test_after_fit=false"),
]


def refused(result, *words):
    code, _, err = result
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert code == 2, err
    assert len(lines) == 1, err
    for word in words:
        assert word in lines[0]
    assert not Path("runs").exists() or not any(Path("runs").iterdir())


@pytest.mark.parametrize("config", ["regularised_vit", "adaptive_weighting"])
def test_shipped_configs_train(fit, config):
    code, _, err = fit(
        *("--trainer.limit_train_batches=1", "--trainer.max_epochs=1"),
        *("--trainer.callbacks=[]", "--test_after_fit=false"),
        config=config,
    )
    assert code == 0, err


def results(folder):
    rows = list(csv.DictReader(Path(folder, "metrics.csv").read_text().splitlines()))
    timing = ("train/epoch_seconds", "train/images_per_second")
    metrics = [{k: v for k, v in row.items() if k not in timing} for row in rows]
    saved = torch.load(Path(folder, "checkpoints/last.ckpt"), weights_only=True)["state_dict"]
    return metrics, {name: value.tolist() for name, value in saved.items()}


@pytest.mark.slow  # two whole runs
def test_a_resumed_run_with_both_ends_like_an_undisturbed_one(fit, monkeypatch):
    assert fit("--run_name=whole", *BOTH)[0] == 0

    def stop(seed, epoch, rank):
        if epoch == 1:
            raise KeyboardInterrupt
        seed_epoch(seed, epoch, rank)

    with monkeypatch.context() as patch:
        patch.setattr("fer_lightning.training.callbacks.epoch_seed.seed_epoch", stop)
        with pytest.raises(SystemExit):
            fit("--run_name=cut", *BOTH)
    assert len(Path("runs/cut/metrics.csv").read_text().splitlines()) == 2
    assert fit("--run_name=cut", *BOTH, "--resume")[0] == 0
    assert results("runs/cut") == results("runs/whole")
    metrics, weights = results("runs/cut")
    columns = set(metrics[0])
    assert "objective.instance_weights.score.weight" in weights
    assert {"train/attention_loss", "train/weight_entropy", "train/squared_norm"} <= columns
    config = Path("runs/whole/config.yaml").read_text()
    assert "regulariser" in config
    assert "kl: 0.1" in config


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--model.regulariser.weight=-1", "weight of at least 0 but got -1"),
        ("--model.regulariser.region=moth", "moth"),
        ("--model.weighting.alpha=0", "alpha above 0 but got 0"),
    ],
)
def test_impossible_options(fit, option, words):
    refused(fit(option), words)


def test_attention_of_a_model_without_any(run):
    net = ("--model.net=cnn", "--model.regulariser.kind=attention")
    refused(run("fit", *net, "--data.source=drawn", "--data.drawn.size=70"), "global attention")


def test_regions_of_images_that_are_no_faces(fit, tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / "pets" / name).mkdir(parents=True)
        for i in range(20):
            noise = np.random.default_rng([i, len(name), ord(name[0])]).integers(0, 255, (48, 48))
            cv2.imwrite(str(tmp_path / "pets" / name / f"{i}.png"), noise.astype(np.uint8))
    given = ("--data.source=auto", f"--data.data_dir={tmp_path / 'pets'}")
    refused(fit(*given, "--model.regulariser.weight=0.1"), "expected a data set with regions")
