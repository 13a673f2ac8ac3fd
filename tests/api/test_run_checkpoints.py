"""A run that is killed while it writes a checkpoint, or moved, ends as if nothing had happened."""

import json
import os
import shutil

import pytest
import torch
from file_systems import another
from tiny_run import EPOCHS, kill_after, kill_at, killed, results, train

from fer_lightning.cli import main as cli
from fer_lightning.commands.study_cell import main as study_cell
from fer_lightning.errors import UserError


@pytest.fixture
def elsewhere(tmp_path):
    """A folder on another file system than the temporary folder."""
    with another(tmp_path) as folder:
        yield folder


def names(folder):
    return sorted(path.name for path in (folder / "checkpoints").iterdir())


def test_killed_in_the_write_on_another_file_system(undisturbed, elsewhere):
    assert killed(elsewhere / "run", kill_at(["fsync", "sendfile"], 5))
    assert (elsewhere / "run" / "checkpoints" / "last.ckpt").stat().st_size
    train(elsewhere / "run", resume=True)
    assert results(elsewhere / "run") == undisturbed
    assert names(elsewhere / "run") == ["best.ckpt", "last.ckpt"]


@pytest.mark.parametrize("size", [0, 5000])
def test_a_damaged_last_checkpoint(undisturbed, tmp_path, size, capfd):
    folder = tmp_path / "run"
    assert killed(folder, kill_after(3))
    os.truncate(folder / "checkpoints" / "last.ckpt", size)
    # killed again, before the next whole one is written: its predecessor must still be there
    assert killed(folder, kill_at(["fsync"], 1), resume=True)
    capfd.readouterr()
    train(folder, resume=True, quiet=False)
    told = "last.ckpt is damaged: this run goes on from previous.ckpt, which was written after epo"
    assert told in capfd.readouterr().err
    assert results(folder) == undisturbed


def test_no_whole_checkpoint_is_said_in_one_sentence(tmp_path):
    folder = tmp_path / "run"
    assert killed(folder, kill_after(1))
    os.truncate(folder / "checkpoints" / "last.ckpt", 0)
    with pytest.raises(UserError, match=r"last.ckpt is damaged .* remove .*checkpoints to train"):
        train(folder, resume=True)


def test_a_study_cell_goes_on_from_the_predecessor(undisturbed, tmp_path):
    folder = tmp_path / "run"
    assert killed(folder, kill_after(3))
    os.truncate(folder / "checkpoints" / "last.ckpt", 0)
    config = (folder / "config.yaml").read_text() + (
        "wandb: {mode: disabled}\nreport: false\ntensorboard: false\n"
    )
    (folder / "config.yaml").write_text(config)
    assert study_cell([str(folder), "0"]) == 0
    assert results(folder) == undisturbed


@pytest.mark.parametrize("after", [2, EPOCHS], ids=["training", "test"])
@pytest.mark.parametrize("how", [shutil.move, shutil.copytree])
def test_moved_and_resumed(undisturbed, tmp_path, after, how):
    assert killed(tmp_path / "before" / "run", kill_after(after))
    how(tmp_path / "before" / "run", tmp_path / "now" / "other")
    if how is shutil.copytree:  # nothing is read there any more
        os.truncate(tmp_path / "before" / "run" / "checkpoints" / "best.ckpt", 0)
    train(tmp_path / "now" / "run", resume=True)
    assert [path.name for path in (tmp_path / "now").iterdir()] == ["other"]
    assert results(tmp_path / "now" / "other") == undisturbed


def test_a_model_in_eval_mode_is_trained_with_its_dropout(undisturbed, tmp_path):
    train(tmp_path / "run", mode=False)
    assert results(tmp_path / "run") == undisturbed


def test_a_forgotten_best_score_is_told_and_counted_anew(tmp_path):
    assert killed(tmp_path / "other", kill_after(2))
    config, begun = (tmp_path / "other" / name for name in ("config.yaml", "checkpoints/last.ckpt"))
    places = (f"--config={config}", f"--ckpt_path={begun}", f"--runs_dir={tmp_path}")
    options = ("--wandb.mode=disabled", "--report=false", "--run_name=new", "--tensorboard=false")
    with pytest.warns(UserWarning, match="The dirpath has changed"):
        code = cli(["fit", *places, *options])
    assert code == 0
    best = torch.load(tmp_path / "new" / "checkpoints" / "best.ckpt", weights_only=True)
    summary = json.loads((tmp_path / "new" / "summary.json").read_text())
    assert summary["best_epoch"] == best["epoch"] == 2
