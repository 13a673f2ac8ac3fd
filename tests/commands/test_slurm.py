"""SLURM for real, on this machine: the documented lines of srun, and a study as an array job."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from slurm_cluster import cluster, why_not

from fer_lightning.runs.collection import collect

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
FIT = [
    *("fit", "--model.net=cnn", "--model.net.widths=[4,4,8,8]", "--model.net.feature_width=16"),
    *("--data.source=drawn", "--data.drawn.size=210", "--data.eval_batch_size=10"),
    *("--data.batch_size=16", "--trainer.max_epochs=2", "--trainer.accelerator=cpu"),
    *("--trainer.enable_progress_bar=false", "--wandb.mode=disabled", "--tensorboard=false"),
    *("--report=false", "--run_name=two"),
]
STUDY = """
name: tiny
models:
  vit:
    overrides:
      {model.net.patch_size: 4, model.net.dim: 16, model.net.depth: 1, model.net.heads: 2}
overrides:
  data.source: drawn
  data.drawn.size: 280
  data.drawn.image_size: 32
  trainer.max_epochs: 12
  trainer.callbacks: []
  trainer.enable_progress_bar: false
  early_stopping.patience: 12
  early_stopping.wait_for_majority: false
  wandb.mode: disabled
  tensorboard: false
fractions: [1.0]
seeds: [1, 2]
focus: {samples: 20, methods: [gradient], controls: maps}
"""
CLI = [sys.executable, "-m", "fer_lightning.cli"]
TIMES = ["seconds", "started", "code"]
SPEED = ["train/epoch_seconds", "train/images_per_second"]


@pytest.fixture(scope="module")
def slurm():
    if why := why_not():
        pytest.skip(why)
    with cluster() as made:
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        made.environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
        yield made


def test_the_line_of_srun(slurm, tmp_path):
    line = ["srun", "--nodes=1", "--ntasks-per-node=2", *CLI, *FIT]  # as docs/many_machines.md
    line += ["--trainer.devices=2", "--trainer.num_nodes=1", "--trainer.strategy=ddp"]
    slurm.run(*line, cwd=tmp_path)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["two"]
    summary = json.loads((tmp_path / "runs/two/summary.json").read_text())
    assert summary["processes"] == 2
    split = json.loads((tmp_path / "runs/two/split.json").read_text())
    assert sum(map(sum, summary["test"]["confusion"])) == len(split["test"])  # each image once


def study(folder, environment, *options):
    (folder / "tiny.yaml").write_text(STUDY)
    words = [*CLI, "study", "tiny.yaml", *options]
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def epochs(cell):
    file = cell / "metrics.csv"
    return len(file.read_text().splitlines()) - 1 if file.is_file() else 0


def test_a_study_as_an_array_job_that_is_preempted_and_meets_its_time_limit(slurm, tmp_path):
    array, alone = tmp_path / "array", tmp_path / "alone"
    array.mkdir()
    alone.mkdir()
    said = study(array, slurm.environment, "--slurm", "cells.sh")
    assert "2 cells for sbatch cells.sh" in said
    words = ["sbatch", "--parsable", "--partition=rehearsal", "--array=0-1%1", "cells.sh"]
    job = slurm.run(*words, cwd=array).strip()
    cells = [next((array / "runs/tiny").glob(f"vit-*-seed{seed}-*")) for seed in (1, 2)]

    slurm.wait(lambda: epochs(cells[0]) >= 2)
    slurm.run("scontrol", "requeue", f"{job}_0")  # what preemption does
    slurm.wait(lambda: slurm.tasks().get(f"{job}_0") == "PENDING")
    assert 2 <= epochs(cells[0]) < 12

    slurm.wait(lambda: epochs(cells[1]) >= 2)
    slurm.run("scancel", "--batch", "--signal=USR1", f"{job}_1")  # what --signal does in time
    slurm.wait(lambda: slurm.tasks().get(f"{job}_1") == "PENDING")
    assert 2 <= epochs(cells[1]) < 12
    assert f"{job}_0" not in (array / "runs/tiny/slurm-1.log").read_text()  # no other task

    slurm.wait(lambda: not slurm.tasks())
    for cell in cells:
        assert (cell / "summary.json").is_file(), (cell / "log.txt").read_text()
    assert "There is no cell to train" in study(array, slurm.environment, "--slurm", "cells.sh")
    study(array, slurm.environment)
    assert (array / "runs/tiny/report.html").is_file()

    study(alone, slurm.environment)
    one, other = (collect([folder / "runs/tiny"]) for folder in (alone, array))
    assert not other.missing
    assert other.table.drop(columns=TIMES).equals(one.table.drop(columns=TIMES))
    assert other.predictions.equals(one.predictions)
    assert other.focus_samples.equals(one.focus_samples)
    assert other.metrics.drop(columns=SPEED).equals(one.metrics.drop(columns=SPEED))  # all digits


def test_a_cell_that_fails_is_told_and_tried_again_only_if_asked(slurm, tmp_path):
    study(tmp_path, slurm.environment, "--slurm", "cells.sh", "--only", "seed=1")
    cell = next((tmp_path / "runs/tiny").glob("vit-*-seed1-*"))
    config = cell / "config.yaml"
    config.write_text(config.read_text().replace("patch_size: 4", "patch_size: 5"))
    job = slurm.run("sbatch", "--parsable", "cells.sh", cwd=tmp_path).strip()
    slurm.wait(lambda: not slurm.tasks())
    assert "JobState=FAILED" in slurm.run("scontrol", "show", "job", job)
    assert "failed" in (tmp_path / "runs/tiny/slurm-0.log").read_text()
    said = study(tmp_path, slurm.environment, "--slurm", "cells.sh", "--only", "seed=1")
    assert "There is no cell to train" in said
