"""A user's mistake is one sentence and exit code 2, and leaves nothing behind."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch


def refused(result, *words):
    code, _, err = result
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert code == 2, err
    assert len(lines) == 1, err
    assert "Traceback" not in err
    for word in words:
        assert word in lines[0]
    assert not Path("runs").exists() or not any(Path("runs").iterdir())


def test_unknown_command(run):
    refused(run("fti"), "expected a command but got 'fti'", "did you mean 'fit'?")


def test_unknown_model(fit):
    refused(fit("--model.net=vti"), "got 'vti'", "did you mean 'vit'?")


def test_unknown_option(fit):
    refused(fit("--model.lrr=1"), "lrr")


def test_wrong_type(fit):
    refused(fit("--model.lr=fast"), "lr", "fast")


def test_unknown_key_in_a_config(run, tmp_path):
    (tmp_path / "bad.yaml").write_text("model:\n  learning_rate: 1\n")
    refused(run("fit", "--config=bad.yaml"), "learning_rate")


def test_broken_and_missing_config(run, tmp_path):
    (tmp_path / "bad.yaml").write_text("model: [\n")
    refused(run("fit", "--config=bad.yaml"), "bad.yaml")
    refused(run("fit", "--config=none.yaml"), "none.yaml")


@pytest.mark.parametrize("fraction", ["0", "1.5"])
def test_fraction(fit, fraction):
    refused(fit(f"--data.fraction={fraction}"), "expected a fraction above 0 and at most 1")


def test_a_class_missing_after_the_fraction(fit):
    refused(fit("--data.fraction=0.01"), "expected every class among the training images")


def test_missing_data(run):
    refused(run("fit", "--model.net=cnn", "--data.data_dir=nowhere"), "nowhere")


def test_empty_folder(run):
    Path("empty").mkdir()
    refused(run("fit", "--model.net=cnn", "--data.data_dir=empty"), "empty")


def test_drawn_and_data_dir(fit):
    refused(fit("--data.data_dir=x"), "expected no data_dir with source: drawn")


def test_unwritable_output(fit):
    Path("file").write_text("")
    refused(fit("--runs_dir=file/runs"), "expected to write runs below file/runs", "--runs_dir")
    refused(fit("--runs_dir=file"), "file")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(fit):
    refused(fit("--trainer.accelerator=gpu"), "expected options that the Trainer takes")


def test_unknown_strategy(fit):
    refused(fit("--trainer.strategy=dpd"), "expected options that the Trainer takes", "dpd")


def test_nothing_to_resume(fit):
    refused(fit("--resume"), "expected a run of this configuration", "leave out --resume")
    refused(fit("--resume=nowhere"), "nowhere")


def test_test_needs_a_checkpoint(run):
    refused(run("test", "--model.net=cnn", "--data.drawn.size=70"), "--ckpt_path")


def test_checkpoint_of_another_model(fit, run):
    fit("--runs_dir=other", "--run_name=a")
    options = ("--data.source=drawn", "--data.drawn.size=70", "--model.net=cnn")
    refused(
        run("test", *options, "--ckpt_path=other/a/checkpoints/best.ckpt"),
        "expected a checkpoint of cnn but got one of vit",
    )


class Hostile:
    def __reduce__(self):
        return Path.touch, (Path("executed"),)


def test_checkpoint_that_executes_code(run):
    torch.save(Hostile(), "hostile.ckpt")
    options = ("--data.source=drawn", "--data.drawn.size=70", "--model.net=cnn")
    refused(run("test", *options, "--ckpt_path=hostile.ckpt"), "could execute code")
    assert not Path("executed").exists()


def test_disk_full_while_writing_a_checkpoint(tmp_path):
    """Files may grow to 1 MB only, as on a disk that is full: the checkpoint does not fit."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "fer_lightning.cli", "fit", "--model.net=vit"),
            *("--data.source=drawn", "--data.drawn.size=70", "--wandb.mode=disabled"),
            *("--trainer.max_epochs=1", "--trainer.enable_progress_bar=false"),
        ],
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6)),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2, done.stderr
    assert "the disk is full" in done.stderr
    assert "--resume" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "runs/vit-seed42/checkpoints").iterdir())
    assert not (tmp_path / "runs/vit-seed42/summary.json").exists()
