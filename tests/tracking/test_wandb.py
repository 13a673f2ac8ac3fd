from pathlib import Path

import pytest
import wandb

from fer_lightning.runs.folder import new_run_folder
from fer_lightning.tracking.wandb import Wandb, WandbTracker, choose_mode


@pytest.fixture
def no_key(monkeypatch, tmp_path):
    """A home without any W&B key."""
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_RUN_ID", "WANDB_SWEEP_ID", "WANDB_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")


@pytest.fixture
def folder(tmp_path):
    return new_run_folder(tmp_path / "runs", "a")


def test_auto_is_offline_without_a_key(no_key):
    assert choose_mode("auto") == "offline"


def test_auto_is_online_with_a_key(no_key, monkeypatch):
    monkeypatch.setattr(wandb, "login", lambda **options: True)
    assert choose_mode("auto") == "online"


def test_an_unusable_key_is_told_and_tracks_offline(no_key, monkeypatch):
    def refuse(**options):
        raise wandb.errors.AuthenticationError("API key must have 40+ characters, has 5.")

    monkeypatch.setattr(wandb, "login", refuse)
    with pytest.warns(UserWarning, match="key cannot be used"):
        assert choose_mode("auto") == "offline"


@pytest.mark.parametrize(
    ("variable", "mode"), [("offline", "offline"), ("dryrun", "offline"), ("disabled", "disabled")]
)
def test_the_environment_decides_auto_only(no_key, monkeypatch, variable, mode):
    monkeypatch.setenv("WANDB_MODE", variable)
    assert choose_mode("auto") == mode
    assert choose_mode("online") == "online"


def test_an_offline_run_lies_in_the_run_folder(no_key, folder):
    tracker = WandbTracker(Wandb(mode="offline"), folder, "abc123")
    tracker.log_metrics({"epoch": 0, "val/acc": 0.5})
    tracker.summarise({"completed": True})
    tracker.finish()
    (run,) = (folder.path / "wandb").glob("offline-run-*-abc123")
    assert list(run.glob("*.wandb"))
    assert "wandb sync" in tracker.how_to_sync()
    assert tracker.failure is None


def test_an_offline_run_lies_in_its_folder_wherever_wandbs_process_began(wandb_home, monkeypatch):
    """W&B's process lives on between runs and keeps the folder in which it was started."""
    wandb.setup().ensure_service()
    elsewhere = wandb_home / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    tracker = WandbTracker(Wandb(mode="offline"), new_run_folder(Path("runs"), "later"), "later1")
    tracker.log_metrics({"epoch": 0, "val/acc": 0.5})
    tracker.finish()
    (written,) = elsewhere.glob("runs/later/wandb/offline-run-*/run-later1.wandb")
    assert written.stat().st_size > 0


def test_a_failure_is_told_once_and_ends_nothing(no_key, folder, monkeypatch):
    def broken(**options):
        raise OSError("no space left")

    monkeypatch.setattr(wandb, "init", broken)
    tracker = WandbTracker(Wandb(mode="offline"), folder, "abc123")
    with pytest.warns(
        UserWarning, match=r"W&B failed in _start .*no space left.* Training"
    ) as told:
        tracker.log_metrics({"epoch": 0, "val/acc": 0.5})
    assert len(told) == 1
    tracker.log_metrics({"epoch": 1, "val/acc": 0.5})
    tracker.log_hyperparams({"lr": 1})
    tracker.summarise({"completed": True})
    tracker.finish()


def test_a_given_id_is_taken(no_key, folder, monkeypatch):
    monkeypatch.setenv("WANDB_RUN_ID", "given")
    assert WandbTracker(Wandb(mode="disabled"), folder, "ours").place["wandb_id"] == "given"


def test_in_a_sweep_the_agent_decides(no_key, folder, monkeypatch):
    agent = {"RUN_ID": "fromagent", "SWEEP_ID": "s1", "PROJECT": "swept", "ENTITY": "team"}
    for name, value in agent.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    tracker = WandbTracker(Wandb(mode="disabled", tags=("a",)), folder, "ours")
    assert tracker.place == {
        "wandb_id": "fromagent",
        "wandb_project": "swept",
        "wandb_entity": "team",
    }
    options = tracker._wandb_init
    assert (options["group"], options["tags"]) == ("sweep-s1", ["a", "sweep"])
    assert not {"project", "entity", "id"} & options.keys()  # W&B would warn of them
