"""Two processes over gloo give what one process gives."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from wandb_server.tracked import serving

from fer_lightning.runs.files import DEFAULT_METHODS

RANKS = """
import lightning as L, torch

class Hash(L.Callback):
    def on_train_end(self, trainer, pl_module):
        total = sum(p.double().abs().sum() for p in pl_module.parameters())
        open(f"rank{trainer.global_rank}.txt", "w").write(repr(total.item()))
"""
FIT = [
    *("fit", "--model.net=cnn", "--model.net.widths=[4,4,8,8]", "--model.net.feature_width=16"),
    *("--data.source=drawn", "--data.drawn.size=210", "--data.eval_batch_size=10"),
    *("--data.batch_size=16", "--trainer.max_epochs=2", "--run_name=two"),
    *("--trainer.devices=2", "--trainer.strategy=ddp", "--trainer.accelerator=cpu"),
    *("--trainer.callbacks+=ranks.Hash", "--trainer.enable_progress_bar=false"),
    *("--trainer.callbacks+=fer_lightning.callbacks.FocusCallback",),
    *("--trainer.callbacks.init_args.samples=15",),
]


def run(folder, *argv):
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "fer_lightning.cli", *argv],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A run of two processes, and the test of its best checkpoint by one; what W&B knows of it."""
    folder = tmp_path_factory.mktemp("ddp")
    (folder / "ranks.py").write_text(RANKS)
    taken = folder / "runs/two"  # a complete run of the same name must not confuse any rank
    taken.mkdir(parents=True)
    (taken / "summary.json").write_text("{}")
    with serving(folder / "home") as server:
        run(folder, *FIT)
    run(
        folder,
        *(
            "test",
            "--config=runs/two-2/config.yaml",
            "--ckpt_path=runs/two-2/checkpoints/best.ckpt",
        ),
        *("--trainer.devices=1", "--trainer.strategy=auto", "--run_name=one"),
        "--wandb.mode=disabled",
    )
    return folder, server.state


@pytest.fixture
def folder(done):
    return done[0]


def test_there_is_one_run_on_wandb(done):
    run = done[1].run()
    assert (run.starts, run.state, run.summary["completed"]) == (1, "finished", True)
    assert run.config["run"]["processes"] == 2
    assert [row["epoch"] for row in run.history if "val/acc" in row] == [0, 1]


def test_both_ranks_end_with_the_same_parameters(folder):
    assert (folder / "rank0.txt").read_text() == (folder / "rank1.txt").read_text()


def test_there_is_one_run_folder(folder):
    assert sorted(p.name for p in (folder / "runs").iterdir()) == ["one", "two", "two-2"]


def test_predictions_equal_those_of_one_process(folder):
    one, two = (np.load(folder / f"runs/{name}/predictions.npz") for name in ("one", "two-2"))
    split = json.loads((folder / "runs/two-2/split.json").read_text())
    assert two["row"].tolist() == sorted(split["test"])  # each image exactly once
    np.testing.assert_array_equal(one["row"], two["row"])
    np.testing.assert_array_equal(one["label"], two["label"])
    np.testing.assert_allclose(one["logits"], two["logits"], atol=1e-5)


def test_metrics_equal_those_of_one_process(folder):
    one, two = (
        json.loads((folder / f"runs/{n}/summary.json").read_text()) for n in ("one", "two-2")
    )
    assert one["test"]["acc"] == two["test"]["acc"]
    assert one["test"]["confusion"] == two["test"]["confusion"]
    assert two["val"]["images"] == len(
        json.loads((folder / "runs/two-2/split.json").read_text())["val"]
    )
    assert two["processes"] == 2


def test_focus_equals_that_of_one_process(folder):
    one, two = (
        list(csv.DictReader((folder / f"runs/{name}/focus_samples.csv").read_text().splitlines()))
        for name in ("one", "two-2")
    )
    assert len(one) == len(two) == 2 * 15 * len(DEFAULT_METHODS)
    words = {"method", "file", "label", "predicted", "resolution", "regions_from"}
    for a, b in zip(one, two, strict=True):
        assert a.keys() == b.keys()
        assert all(a[name] == b[name] for name in words)
        for name in a.keys() - words:
            assert (a[name] == "") == (b[name] == "")
            if a[name]:
                assert float(a[name]) == pytest.approx(float(b[name]), rel=1e-3, nan_ok=True)
