"""A run on W&B: what arrives there, and that an interrupted run goes on as the same one."""

import copy
import json
from pathlib import Path

import lightning as L
import pytest
import torch
import wandb
import yaml
from wandb_server.tracked import serving

from fer_lightning.cli import main
from fer_lightning.commands.fit import INTERRUPTED

CONFIGS = Path(__file__).parents[2] / "configs"
FIT = [
    *("fit", f"--config={CONFIGS / 'smoke.yaml'}", "--report=false", "--run_name=one"),
    *("--model.net=vit", "--model.net.dim=16", "--model.net.depth=1", "--model.net.heads=2"),
    *("--trainer.max_epochs=3", "--trainer.enable_progress_bar=false"),
    *("--wandb.project=faces", "--wandb.log_model=true", "--wandb.tags=[a,b]", "--wandb.group=g"),
]
LOOKS = [
    *("--trainer.callbacks+=fer_lightning.callbacks.ConfusionCallback",),
    *("--trainer.callbacks+=fer_lightning.callbacks.FocusCallback",),
    *("--trainer.callbacks.init_args.samples=7",),
]


class Interrupts(L.Callback):
    """Ctrl-C in the last epoch."""

    def on_train_epoch_start(self, trainer, pl_module):
        if trainer.current_epoch == 2:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """The server after a run that was interrupted and went on, and its run as it was between."""
    with serving(tmp_path_factory.mktemp("home")) as server:
        with pytest.raises(SystemExit) as stop:
            main([*FIT, *LOOKS, f"--trainer.callbacks+={__name__}.Interrupts"])
        assert stop.value.code == INTERRUPTED
        between = copy.deepcopy(server.state.run())
        assert main([*FIT, *LOOKS, "--resume=runs/one"]) == 0
        yield server, between


@pytest.fixture
def server(story):
    return story[0]


@pytest.fixture
def run(story):
    server, between = story
    return server.state.run(between.name)


@pytest.fixture(scope="module")
def second(story):
    """A run that starts from the first one's best checkpoint and learns nothing."""
    _, first = story
    start = ["--model.transfer.head=keep", "--model.lr=1e-30", "--wandb.log_model=false"]
    artifact = f"--from-artifact=tester/faces/model-{first.name}:best"
    assert main([*FIT, "--run_name=two", "--trainer.max_epochs=1", artifact, *start]) == 0
    return json.loads(Path("runs/two/run.json").read_text())


def test_an_interrupted_run_is_not_complete(story):
    _, between = story
    assert between.state == "failed"
    assert between.exit_code == INTERRUPTED
    assert between.summary["completed"] is False


def test_it_goes_on_as_the_same_run_on_the_same_axis(run):
    assert run.starts == 2
    assert run.name == json.loads(Path("runs/one/run.json").read_text())["wandb_id"]
    steps = [row["_step"] for row in run.history]
    assert steps == sorted(set(steps))
    epochs = [row["epoch"] for row in run.history if "val/acc" in row]
    assert epochs == [0, 1, 2]


def test_the_summary_is_that_of_the_folder(run):
    ours = json.loads(Path("runs/one/summary.json").read_text())
    assert run.state == "finished"
    assert run.summary["completed"] is True
    assert run.summary["test"]["acc"] == pytest.approx(ours["test"]["acc"])
    assert run.summary["best_epoch"] == ours["best_epoch"]
    assert run.config["model"]["net"]["init_args"]["dim"] == 16
    assert (run.fields["groupName"], run.fields["tags"]) == ("g", ["a", "b"])


def test_pictures_arrive(server, run):
    (picture,) = run.logged("test/confusion")
    folder = Path("runs/one/confusion/test.png")
    assert server.state.file(run, picture["path"]) == folder.read_bytes()
    assert len(run.logged("val/confusion")) == 3
    assert len(run.logged("test/focus")) == 1


def test_the_confusion_matrix_is_a_table_of_each_epoch(server, run):
    assert len(run.logged("val/confusion_matrix_table")) == 3
    (shown,) = run.logged("test/confusion_matrix_table")
    table = json.loads(server.state.file(run, shown["path"]))
    counts = json.loads(Path("runs/one/summary.json").read_text())["test"]["confusion"]
    assert table["columns"] == ["Actual", "Predicted", "nPredictions"]
    assert [row[2] for row in table["data"]] == [n for row in counts for n in row]
    assert table["data"][1][:2] == ["angry", "disgust"]


def test_the_full_focus_table_comes_at_the_end(server, run):
    (shown,) = run.logged("test/focus_table")
    assert shown["nrows"] > 100
    assert shown["path"] in run.files


def test_everything_that_was_begun_is_committed(server):
    assert {one.state for one in server.state.artifacts} == {"COMMITTED"}


def test_only_the_best_checkpoint_is_uploaded(server, run):
    (model,) = server.state.models()
    assert (model.name, set(model.aliases)) == (f"model-{run.name}", {"best", "latest"})
    (key,) = model.files.values()
    assert server.state.stored[key] == Path("runs/one/checkpoints/best.ckpt").read_bytes()


def test_a_loss_that_is_no_number_is_an_alert(server):
    assert main([*FIT, "--run_name=lost", "--model.lr=1e30", "--wandb.log_model=false"]) == 2
    (lost,) = [r for r in server.state.runs.values() if r.fields["displayName"] == "lost"]
    (alert,) = lost.alerts
    assert (alert["title"], alert["severity"]) == ("Loss is not a number", "WARN")
    assert (lost.state, lost.summary["completed"]) == ("failed", False)


def test_a_collapse_is_an_alert(run):
    (alert,) = run.alerts
    assert (alert["title"], alert["severity"]) == ("One class only", "WARN")


def test_the_api_reads_it(run):
    read = wandb.Api().run(f"tester/faces/{run.name}")
    ours = json.loads(Path("runs/one/summary.json").read_text())
    assert read.state == "finished"
    assert read.summary["val/acc"] == run.logged("val/acc")[-1]
    assert read.config["run"]["model"] == ours["model"]
    assert run.name in [one.id for one in wandb.Api().runs("tester/faces")]


def test_a_training_starts_from_an_artifact(second, run, server):
    (report,) = second["transfer"]
    (model,) = server.state.models()
    assert report["file"] == f"tester/faces/model-{run.name}:v0"
    assert report["digest"] == model.digest
    one, two = (
        torch.load(f"runs/{name}/checkpoints/best.ckpt", weights_only=True)["state_dict"]
        for name in ("one", "two")
    )
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_the_artifact_is_in_the_configuration_and_its_file_is_gone(second, run):
    config = yaml.safe_load(Path("runs/two/config.yaml").read_text())
    assert config["from_artifact"] == f"tester/faces/model-{run.name}:best"
    assert config["model"]["transfer"].get("weights") is None


def test_w_and_b_knows_where_the_weights_come_from(second, server):
    (model,) = server.state.models()
    assert model.used_by == [second["wandb_id"]]


def test_artifact_and_file_exclude_each_other(server, capsys):
    both = ["--from_artifact=a/b/c:best", "--model.transfer.weights=runs/one/checkpoints/best.ckpt"]
    assert main([*FIT, *both]) == 2
    assert "--from_artifact or --model.transfer.weights but got both" in capsys.readouterr().err
