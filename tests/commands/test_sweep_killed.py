"""Real sweeps of tiny models: killed and gone on against undisturbed, and stopped by Hyperband."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

CONFIGS = Path(__file__).parents[2] / "configs"
SWEEP = f"""
name: tiny
method: grid
metric: {{name: train/loss, goal: minimize}}
command:
  - ${{interpreter}}
  - -m
  - fer_lightning.cli
  - fit
  - --config
  - {CONFIGS}/vit.yaml
  - --trainer.callbacks=[]
  - --trainer.enable_progress_bar=false
  - --wandb.mode=disabled
  - --early_stopping.wait_for_majority=false
  - ${{args}}
parameters:
  data.source: {{value: drawn}}
  data.drawn.size: {{value: 280}}
  data.drawn.image_size: {{value: 32}}
  model.net.patch_size: {{value: 8}}
  model.net.dim: {{value: 16}}
  model.net.depth: {{value: 1}}
  model.net.heads: {{value: 2}}
  trainer.max_epochs: {{value: EPOCHS}}
  model.lr: {{values: [0.01, 1.0e-9]}}
"""


def start(folder, text):
    (folder / "tiny.yaml").write_text(text)
    return subprocess.Popen(
        [sys.executable, "-m", "fer_lightning.cli", "sweep", "tiny.yaml"],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(folder, text):
    sweep = start(folder, text)
    out, _ = sweep.communicate(timeout=1800)
    assert sweep.returncode == 0, out
    return pd.read_csv(folder / "runs/tiny/sweep.csv")


def epochs(folder):
    files = folder.glob("runs/tiny/*/metrics.csv")
    return sum(len(file.read_text().splitlines()) - 1 for file in files)


def children(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


@pytest.mark.slow
def test_killed_twice_and_gone_on(tmp_path):
    text = SWEEP.replace("EPOCHS", "3")
    undisturbed, disturbed = tmp_path / "a", tmp_path / "b"
    undisturbed.mkdir()
    disturbed.mkdir()
    for after, whom in ((1, "both"), (4, "sweep")):
        sweep = start(disturbed, text)
        until = time.monotonic() + 900
        while epochs(disturbed) < after and sweep.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.02)
        working = children(sweep.pid)
        sweep.kill()
        for child in working if whom == "both" else []:
            os.kill(child, signal.SIGKILL)
        sweep.communicate()
    one, other = finish(undisturbed, text), finish(disturbed, text)
    assert one["state"].tolist() == ["done", "done"]
    assert other.drop(columns="seconds").equals(one.drop(columns="seconds"))
    timing = ["train/epoch_seconds", "train/images_per_second"]
    for name in ("tiny-001", "tiny-002"):
        tables = [
            pd.read_csv(folder / f"runs/tiny/{name}/metrics.csv").drop(columns=timing)
            for folder in (undisturbed, disturbed)
        ]
        assert tables[0].equals(tables[1])


@pytest.mark.slow
def test_hyperband_ends_a_real_run_cleanly(tmp_path):
    early = "early_terminate: {type: hyperband, min_iter: 1, eta: 3}\n"
    table = finish(tmp_path, SWEEP.replace("EPOCHS", "60") + early)
    assert table["state"].tolist() == ["done", "stopped"]
    assert 2 <= table["epochs"][1] < 60
    stopped = tmp_path / "runs/tiny/tiny-002"
    assert (stopped / "checkpoints/last.ckpt").is_file()
    assert not (stopped / "summary.json").exists()
    assert "Traceback" not in (stopped / "log.txt").read_text()
    assert "Stopped; go on with" in (stopped / "log.txt").read_text()
    again = finish(tmp_path, SWEEP.replace("EPOCHS", "60") + early)
    assert again.equals(table), "what was stopped stays stopped"
