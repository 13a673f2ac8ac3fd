"""``fer-lightning sweep``: a real one of two tiny runs, and mistakes that cost no training."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from fer_lightning.cli import main

CONFIGS = Path(__file__).parents[2] / "configs"
TINY = f"""
name: tiny
project: some_project
method: grid
metric: {{name: val/acc, goal: maximize}}
command:
  - ${{interpreter}}
  - -m
  - fer_lightning.cli
  - fit
  - --config
  - {CONFIGS}/vit.yaml
  - --config
  - {CONFIGS}/smoke.yaml
  - --trainer.callbacks=[]
  - --trainer.max_epochs=1
  - --data.drawn.size=140
  - ${{args}}
parameters:
  model.net.dim: {{value: 16}}
  model.net.depth: {{value: 1}}
  model.net.heads: {{value: 2}}
  model.net.keep_patches: {{value: "null"}}
  model.compile: {{value: false}}
  early_stopping.wait_for_majority: {{values: [true, false]}}
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A sweep of two real runs, offline, and what it printed."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "tiny.yaml").write_text(TINY)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("COLUMNS", "200")
        patch.setenv("HOME", str(folder))
        patch.setenv("WANDB_RUN_ID", "of-another")  # two runs must not take it
        assert main(["sweep", "tiny.yaml"]) == 0
    return folder / "runs/tiny"


@pytest.fixture
def sweep(run, tmp_path):
    def call(*options, change=("", "")):
        assert change[0] in TINY
        (tmp_path / "tiny.yaml").write_text(TINY.replace(*change))
        return run("sweep", "tiny.yaml", *options)

    return call


def test_runs_are_complete_folders_with_their_point(finished):
    for name, waits in (("tiny-001", True), ("tiny-002", False)):
        assert json.loads((finished / name / "summary.json").read_text())["epochs"] == 1
        config = yaml.safe_load((finished / name / "config.yaml").read_text())
        assert config["early_stopping"]["wait_for_majority"] is waits
        assert config["model"]["compile"] is False
        assert config["model"]["net"]["init_args"].get("keep_patches") is None
        assert config["model"]["net"]["init_args"]["dim"] == 16


def test_the_table_has_a_row_a_run(finished):
    table = pd.read_csv(finished / "sweep.csv")
    assert table["run"].tolist() == ["tiny-001", "tiny-002"]
    assert table["state"].tolist() == ["done", "done"]
    assert table["early_stopping.wait_for_majority"].tolist() == [True, False]
    summary = json.loads((finished / "tiny-001/summary.json").read_text())
    assert table["val/acc"][0] == pytest.approx(summary["val"]["acc"], abs=1e-5)
    assert table["seconds"][0] == pytest.approx(summary["seconds"], abs=0.1)


def test_offline_runs_are_synced_as_a_group(finished, wandb_server):
    offline = sorted(map(str, finished.glob("tiny-*/wandb/offline-run-*")))
    assert len(offline) == 2
    sync = [sys.executable, "-m", "wandb", "sync", *offline]
    done = subprocess.run(sync, capture_output=True, text=True, timeout=120)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    kept = wandb_server.state.runs
    assert len(kept) == 2, told  # W&B says 0 also where it found nothing to send
    for run in kept.values():
        assert run.project == "some_project"
        assert (run.fields["groupName"], run.fields["tags"]) == ("tiny", ["sweep"])
        assert run.fields["displayName"] in ("tiny-001", "tiny-002")
        assert run.config["model"]["net"]["init_args"]["dim"] == 16, "to be compared on W&B"


def test_the_page_is_there_and_is_made_again(finished, capsys):
    page = (finished / "report.html").read_text()
    assert "Sweep tiny" in page
    assert "wait_for_majority" in page
    assert "drawn faces instead of FER-2013" in page
    (finished / "report.html").unlink()
    (finished / "sweep.csv").unlink()
    assert main(["report", str(finished)]) == 0
    assert "open" in capsys.readouterr().out
    assert (finished / "report.html").read_text() == page
    assert (finished / "sweep.csv").is_file()
    for name in ("parallel_coordinates", "sweep_curves"):
        assert (finished / f"figures/{name}.png").is_file()


def test_the_same_command_has_nothing_left_to_do(finished, monkeypatch, capsys):
    monkeypatch.chdir(finished.parents[1])
    before = (finished / "tiny-001/log.txt").read_text()
    assert main(["sweep", "tiny.yaml"]) == 0
    out = capsys.readouterr().out
    assert "2 runs in runs/tiny/sweep.csv" in out
    assert "Note: drawn faces instead of FER-2013" in out
    assert (finished / "tiny-001/log.txt").read_text() == before


def test_a_dry_run_shows_points_and_trains_nothing(sweep, tmp_path):
    code, out, _ = sweep("--dry-run")
    assert code == 0
    rows = [line for line in out.splitlines() if "tiny-00" in line]
    assert [("true" in row, "false" in row) for row in rows] == [(True, False), (False, True)]
    assert "fer-lightning fit --config" in out
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("model.net.depth", "model.net.dept"), "got 'model.net.dept'; did you mean 'model.net.de"),
        (("model.compile", "modl.compile"), "got 'modl.compile'; did you mean 'model.compile'"),
        (("{value: 1}", "{value: many}"), "tiny.yaml: .*depth"),
        (("[true, false]", "[true, perhaps]"), "tiny.yaml: .*wait_for_majority"),
        (("/vit.yaml", "/vti.yaml"), "tiny.yaml: .*vti.yaml"),
        (("fer_lightning.cli\n  - fit", "fer_lightning.cli\n  - study"), "runs nothing else"),
        (("method: grid", "method: random"), "expected --count with method random"),
        (("method: grid", "method: [grid"), "expected YAML in tiny.yaml .*line"),
        (('"null"', "null"), "has null"),
    ],
)
def test_mistakes_in_the_file(sweep, tmp_path, change, why):
    code, _, err = sweep(change=change)
    assert code == 2
    assert re.search(why, err), err
    assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--count", 0), "expected --count of at least 1"),
        (("--parallel", 0), "expected --parallel of at least 1"),
        (("--data", "nothing.zip"), "expected images at nothing.zip"),
        (("--out", "tiny.yaml"), "is a file"),
    ],
)
def test_mistakes_in_the_options(sweep, options, why):
    code, _, err = sweep("--dry-run", *options)
    assert code == 2
    assert why in err


def test_a_study_as_a_sweep_file_runs_here_too(run, tmp_path):
    """The matrix that ``study --sweep-file`` writes, point by point."""
    study = """
    name: pair
    models: {vit: {overrides: {model.net.dim: 16, model.net.heads: 2}}}
    overrides: {data.source: drawn, data.drawn.size: 140}
    fractions: [0.5, 1.0]
    seeds: [1]
    """
    (tmp_path / "pair.yaml").write_text(study)
    assert run("study", "pair.yaml", "--sweep-file", "sweeps/pair.yaml")[0] == 0
    code, out, err = run("sweep", "sweeps/pair.yaml", "--dry-run")
    assert code == 0, err
    assert "pair: grid, 2 runs" in out
    assert "--data.fraction=1.0 --seed_everything=1" in out
