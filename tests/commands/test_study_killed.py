"""A real study of tiny models, killed three times and started again, against an undisturbed one."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fer_lightning.runs.collection import collect

STUDY = """
name: tiny
models:
  vit: {overrides: {model.net.dim: 16, model.net.depth: 1, model.net.heads: 2}}
  cnn: {overrides: {model.lr: 0.001}}
overrides:
  data.source: drawn
  data.drawn.size: 280
  data.drawn.image_size: 32
  trainer.max_epochs: 4
  trainer.callbacks: []
  trainer.enable_progress_bar: false
  early_stopping.patience: 2
  early_stopping.wait_for_majority: false
  wandb.mode: disabled
fractions: [1.0]
seeds: [1, 2]
focus: {samples: 20}
""".replace("model.net.dim: 16", "model.net.patch_size: 4, model.net.dim: 16")
TIMES = ["seconds", "started", "code"]


def start(folder):
    (folder / "tiny.yaml").write_text(STUDY)
    return subprocess.Popen(
        [sys.executable, "-m", "fer_lightning.cli", "study", "tiny.yaml"],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def children(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def epochs(folder):
    files = folder.glob("runs/tiny/*/metrics.csv")
    return sum(len(file.read_text().splitlines()) - 1 for file in files)


def finish(folder):
    study = start(folder)
    out, _ = study.communicate(timeout=1200)
    assert study.returncode == 0, out
    found = collect([folder / "runs/tiny"])
    assert not found.missing
    return found


@pytest.mark.slow
def test_killed_three_times_and_gone_on(tmp_path):
    undisturbed, disturbed = tmp_path / "a", tmp_path / "b"
    undisturbed.mkdir()
    disturbed.mkdir()
    for after, whom in ((1, "both"), (3, "study"), (6, "both")):
        study = start(disturbed)
        until = time.monotonic() + 600
        while epochs(disturbed) < after and study.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.02)
        working = children(study.pid)
        study.kill()
        for child in working if whom == "both" else []:
            os.kill(child, signal.SIGKILL)
        study.communicate()
    one, other = finish(undisturbed), finish(disturbed)
    assert other.table.drop(columns=TIMES).equals(one.table.drop(columns=TIMES))
    assert other.predictions.equals(one.predictions)
    assert other.focus_samples.equals(one.focus_samples)
    timing = ["train/epoch_seconds", "train/images_per_second"]
    assert other.metrics.drop(columns=timing).equals(one.metrics.drop(columns=timing))
