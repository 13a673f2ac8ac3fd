"""A run that was stopped by force goes on and ends as if nothing had happened."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from fer_lightning.commands.fit import INTERRUPTED, TERMINATED

COMMAND = [
    *(sys.executable, "-m", "fer_lightning.cli", "fit"),
    *("--model.net=vit", "--model.net.dim=16", "--model.net.depth=1", "--model.net.heads=2"),
    *("--model.net.dropout=0.1", "--model.schedule=cosine", "--wandb.mode=disabled"),
    *("--data.source=drawn", "--data.drawn.size=1050", "--trainer.max_epochs=8"),
    *("--trainer.enable_progress_bar=false", "--early_stopping.patience=3", "--report=false"),
]


def start(folder, *options):
    return subprocess.Popen(
        [*COMMAND, *options],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # a shell starts background jobs, such as a test run, with SIGINT ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def stop_in_mid_run(folder, how):
    """Start a run, wait for two complete epochs, stop it, and return its exit code."""
    process = start(folder)
    metrics = folder / "runs/vit-seed42/metrics.csv"
    last = folder / "runs/vit-seed42/checkpoints/last.ckpt"
    until = time.monotonic() + 120
    while not (last.is_file() and len(metrics.read_text().splitlines()) > 2):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until
        time.sleep(0.005)
    process.send_signal(how)
    out, _ = process.communicate(timeout=300)
    assert not (folder / "runs/vit-seed42/summary.json").exists(), "stopped too late"
    return process.returncode, out


def results(folder):
    run = folder / "runs/vit-seed42"
    rows = list(csv.DictReader((run / "metrics.csv").read_text().splitlines()))
    timing = ("train/epoch_seconds", "train/images_per_second")
    metrics = [{k: v for k, v in row.items() if k not in timing} for row in rows]
    summary = json.loads((run / "summary.json").read_text())
    return metrics, summary["test"], np.load(run / "predictions.npz")["logits"].tolist()


def steps(folder):
    """Epochs of the validation accuracy as TensorBoard shows them."""
    events = EventAccumulator(str(folder / "runs/vit-seed42/tensorboard"))
    events.Reload()
    return [point.step for point in events.Scalars("val/acc")]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    process = start(folder)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    return results(folder)


@pytest.mark.parametrize(
    ("how", "code"),
    [(signal.SIGKILL, -9), (signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)],
)
def test_stopped_and_resumed_equals_undisturbed(undisturbed, tmp_path, how, code):
    stopped, out = stop_in_mid_run(tmp_path, how)
    assert stopped == code, out
    if how != signal.SIGKILL:
        assert "go on with the same command and --resume" in out
        assert "Traceback" not in out
    process = start(tmp_path, "--resume")
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    assert [p.name for p in Path(tmp_path, "runs").iterdir()] == ["vit-seed42"]
    assert results(tmp_path) == undisturbed
    assert steps(tmp_path) == list(range(len(undisturbed[0])))
