"""W&B without a key, with a wrong one, without a network, or with a server that is ill.

Each time the training finishes, the run folder is complete, and one sentence says what to do.
"""

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import lightning as L
import pytest
from wandb_server import WandbServer
from wandb_server.tracked import serving, without_account

from fer_lightning.cli import main

SMOKE = Path(__file__).parents[2] / "configs/smoke.yaml"
FIT = [
    *("fit", f"--config={SMOKE}", "--report=false", "--run_name=one", "--tensorboard=false"),
    *("--model.net=vit", "--model.net.dim=16", "--model.net.depth=1", "--model.net.heads=2"),
    *("--data.drawn.size=140", "--trainer.enable_progress_bar=false"),
]
SECONDS = 90  # that a run may take, on a machine with other work


class Kills(L.Callback):
    """Ends the server after the first epoch."""

    server: WandbServer

    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.current_epoch == 0:
            self.server.stop()


def fit(*options):
    """Train; return what W&B had to be said about."""
    began = time.monotonic()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert main([*FIT, *options]) == 0
    assert time.monotonic() - began < SECONDS
    return [str(one.message) for one in told if str(one.message).startswith("W&B")]


def offline_run():
    """The run folder is complete; return the W&B run in it that can be uploaded."""
    assert json.loads(Path("runs/one/summary.json").read_text())["completed"]
    assert len(Path("runs/one/metrics.csv").read_text().splitlines()) == 3
    (found,) = Path("runs/one/wandb").glob("offline-run-*")
    return found


def sync(*argv):
    """Upload with the unmodified command, to another server; return the run that arrived."""
    with WandbServer() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.env.items():
            patch.setenv(name, value)
        command = [sys.executable, "-m", "wandb", "sync", *map(str, argv)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        assert not server.unknown
        assert {one.state for one in server.state.artifacts} <= {"COMMITTED"}
        return server.state.run()


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server that may do anything, and a client that is soon tired of it."""
    with serving(tmp_path / "home", strict=False) as server:
        monkeypatch.setenv("WANDB_INIT_TIMEOUT", "3")
        monkeypatch.setenv("WANDB_FINISH_TIMEOUT", "3")
        yield server


def test_without_a_key_it_is_offline_and_can_be_uploaded_later(tmp_path, capfd):
    with without_account(tmp_path / "home"):
        assert fit("--wandb.log_model=true") == []
        assert (
            "W&B tracks this run offline (no key, or asked to); to upload" in capfd.readouterr().err
        )
        run = sync(offline_run())
    assert [row["epoch"] for row in run.history if "val/acc" in row] == [0, 1]
    assert (run.state, run.summary["completed"], run.project) == ("finished", True, "fer_lightning")


def test_online_without_a_key(tmp_path):
    with without_account(tmp_path / "home"):
        (told,) = fit("--wandb.mode=online")
        assert "cannot be used online (no key is configured; see wandb login)" in told
        assert str(offline_run().parent) in told


def test_a_wrong_key(server, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "f" * 40)
    (told,) = fit()
    assert "cannot be used online" in told
    assert "401" in told
    assert offline_run()


def test_no_network(server):
    server.stop()
    (told,) = fit()
    assert f"cannot be used online (no connection to {server.url}" in told
    assert offline_run()


@pytest.mark.parametrize("fault", ["500", pytest.param("silence", marks=pytest.mark.slow)])
def test_a_server_that_is_ill(server, fault):
    server.fault = fault
    (told,) = fit()
    assert "cannot be used online" in told
    assert "\n" not in told
    assert offline_run()


def test_a_server_that_dies_in_mid_run(server, monkeypatch):
    monkeypatch.setattr(Kills, "server", server, raising=False)
    (told,) = fit(f"--trainer.callbacks+={__name__}.Kills", "--wandb.log_model=true")
    assert "did not take all of this run (not the checkpoint: " in told
    assert json.loads(Path("runs/one/summary.json").read_text())["completed"]
    begun = server.state.run()
    assert begun.state == "running"
    (folder,) = Path("runs/one/wandb").glob("run-*")
    assert told.endswith(f"wandb sync --include-online {folder}")
    run = sync("--include-online", folder)
    assert run.name == begun.name
    assert (run.state, run.summary["completed"]) == ("finished", True)
    assert [row["epoch"] for row in run.history if "val/acc" in row] == [0, 1]
