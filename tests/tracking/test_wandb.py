import pytest
import wandb

from fer_lightning.tracking.run_folder import new_run_folder
from fer_lightning.tracking.wandb import Wandb, WandbTracker, choose_mode


@pytest.fixture
def no_key(monkeypatch, tmp_path):
    """A home without any W&B key."""
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_RUN_ID"):
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


def test_an_unreachable_server_means_offline(no_key, folder, monkeypatch):
    init = wandb.init

    def unreachable(**options):
        if options["mode"] == "online":
            raise wandb.errors.CommError("no route")
        return init(**options)

    monkeypatch.setattr(wandb, "init", unreachable)
    tracker = WandbTracker(Wandb(mode="online"), folder, "abc123")
    with pytest.warns(UserWarning, match=r"W&B cannot be reached \(no route\)"):
        tracker.log_metrics({"epoch": 0, "val/acc": 0.5})
    tracker.finish()
    assert list((folder.path / "wandb").glob("offline-run-*"))
    assert tracker.mode == "offline"


def test_a_sweep_agent_chooses_the_id(no_key, folder, monkeypatch):
    monkeypatch.setenv("WANDB_RUN_ID", "fromagent")
    assert WandbTracker(Wandb(mode="disabled"), folder, "ours")._id == "fromagent"
