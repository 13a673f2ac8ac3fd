"""`wandb sweep` and `wandb agent`, unmodified, with our `fit`; Hyperband stops one of two runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from wandb_server.tracked import serving

SMOKE = Path(__file__).parents[2] / "configs/smoke.yaml"
MANY = 5000  # epochs that no test waits for
SWEEP = {
    "name": "small",
    "project": "swept",
    "method": "grid",
    "metric": {"name": "val/loss", "goal": "minimize"},
    "early_terminate": {"type": "hyperband", "max_iter": 3, "s": 1},  # compares second epochs
    "command": [
        *("${env}", "${interpreter}", "-m", "fer_lightning.cli", "fit", "--config", str(SMOKE)),
        *("--model.net=vit", "--model.net.dim=16", "--model.net.depth=1", "--model.net.heads=2"),
        *("--data.drawn.size=140", "--trainer.enable_progress_bar=false", "--report=false"),
        *("--tensorboard=false", "--wandb.log_model=true", "--early_stopping.patience=100000"),
        "${args}",
    ],
    "parameters": {
        "config": {"values": ["learns.yaml", "waits.yaml"]},
        "seed_everything": {"value": 7},
        "model.weight_decay": {"value": 0.001},
    },
}
CONFIGS = {
    "learns.yaml": {"model": {"lr": 0.003}, "trainer": {"max_epochs": 2}},
    "waits.yaml": {"model": {"lr": 1e-12}, "trainer": {"max_epochs": MANY}},
}


def wandb_command(*argv):
    """Run the `wandb` command; return what it printed."""
    command = [sys.executable, "-m", "wandb", *argv]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """The server after the sweep, and what was printed."""
    with serving(tmp_path_factory.mktemp("home")) as server:
        for name, content in {"sweep.yaml": SWEEP, **CONFIGS}.items():
            Path(name).write_text(yaml.safe_dump(content))
        told = wandb_command("sweep", "sweep.yaml")
        assert "wandb agent tester/swept/sweep0" in told
        told += wandb_command("agent", "--count", "2", "tester/swept/sweep0")
        yield server, told


@pytest.fixture
def runs(swept):
    """The run that came to its end and the one that was stopped, as W&B knows them."""
    server, told = swept
    assert len(server.state.runs) == 2, told
    return [server.state.run(name) for name in server.state.sweeps["sweep0"].given]


def folder_of(run):
    return Path("runs") / run.fields["displayName"]


def test_the_agent_decides_where_runs_are(runs, swept):
    for run in runs:
        assert (run.project, run.fields["sweep"]) == ("swept", "sweep0")
        assert (run.fields["groupName"], run.fields["tags"]) == ("sweep-sweep0", ["sweep"])
        facts = json.loads((folder_of(run) / "run.json").read_text())
        assert (facts["wandb_id"], facts["wandb_project"]) == (run.name, "swept")
    told = swept[1]
    assert "in project swept" in told
    assert "Ignoring" not in told


def test_parameters_reach_the_training(runs):
    assert [run.config["config"] for run in runs] == list(CONFIGS)
    assert [run.config["trainer"]["max_epochs"] for run in runs] == [2, MANY]
    assert {run.config["model"]["weight_decay"] for run in runs} == {0.001}


def test_the_first_is_complete(runs):
    run, _ = runs
    ours = json.loads((folder_of(run) / "summary.json").read_text())
    assert (run.state, run.summary["completed"]) == ("finished", True)
    assert run.summary["test"]["acc"] == pytest.approx(ours["test"]["acc"])
    assert [row["epoch"] for row in run.history if "val/acc" in row] == [0, 1]


def test_hyperband_stopped_the_second_cleanly_and_it_is_not_complete(runs, swept):
    _, run = runs
    assert run.state == "finished"  # an optimiser would take a failed run for the worst of all
    assert run.summary["completed"] is False
    assert 1 < len(run.logged("val/acc")) < MANY
    assert run.summary["val/acc"] == run.logged("val/acc")[-1]
    assert not (folder_of(run) / "summary.json").exists()
    assert (folder_of(run) / "checkpoints/last.ckpt").is_file()
    assert "Stopped; go on with the same command and --resume" in swept[1]
    assert "Traceback" not in swept[1]


def test_the_best_checkpoint_of_the_complete_run_is_uploaded(runs, swept):
    (model,) = swept[0].state.models()
    assert (model.name, model.state) == (f"model-{runs[0].name}", "COMMITTED")
    assert set(model.aliases) == {"best", "latest"}
