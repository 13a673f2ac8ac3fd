"""From one training to the next on the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

CONFIGS = Path(__file__).parents[2] / "configs/transfer"


def read(path):
    return json.loads(Path(path).read_text())


def weights(run):
    checkpoint = torch.load(f"runs/{run}/checkpoints/best.ckpt", weights_only=True)
    return checkpoint["state_dict"]


@pytest.fixture
def source(fit):
    """The best checkpoint of a training."""
    assert fit("--run_name=source")[0] == 0
    return "runs/source/checkpoints/best.ckpt"


def test_a_probe_of_another_run(fit, run, source):
    start = ["--config", CONFIGS / "linear_probe.yaml", f"--model.transfer.weights={source}"]
    code, _, err = fit(*start, "--run_name=probe")
    assert code == 0
    assert f"Weights: 18 of 18 of the body from {source}" in err.splitlines()
    facts = read("runs/probe/run.json")
    (report,) = facts["transfer"]
    assert (report["file"], report["loaded"], report["missing"]) == (source, 18, [])
    assert len(report["sha256"]) == 64
    assert facts["learning_parameters"] == 7 * 16 + 7
    assert read("runs/probe/summary.json")["transfer"] == facts["transfer"]
    before, after = weights("source"), weights("probe")
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"net.head.weight", "net.head.bias"}
    Path(source).unlink()  # the new checkpoint needs it no more
    again = ["--ckpt_path=runs/probe/checkpoints/best.ckpt", "--run_name=again"]
    assert run("test", "--config=runs/probe/config.yaml", *again)[0] == 0
    assert read("runs/again/summary.json")["test"] == read("runs/probe/summary.json")["test"]


def test_fine_tuning_on_top_of_a_probe(fit, source):
    finetune = ["--config", CONFIGS / "finetune.yaml", "--model.transfer.head=keep"]
    options = [f"--model.transfer.weights={source}", "--run_name=tuned", "--model.lr=1e-30"]
    code, _, err = fit(*finetune, *options)
    assert code == 0
    assert f"Weights: 20 of 20 of the body and head from {source}" in err.splitlines()
    before, after = weights("source"), weights("tuned")  # steps of 1e-30 change nothing
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_another_architecture_leaves_no_folder(fit, source):
    code, _, err = fit("--model.net.dim=32", f"--model.transfer.weights={source}", "--run_name=x")
    assert code == 2
    assert "expected the weights of the body of ViT" in err
    assert "Traceback" not in err
    assert [p.name for p in Path("runs").iterdir()] == ["source"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--model.transfer.weights=none.pt", "there is none at none.pt"),
        ("--model.transfer.layer_decay=2", "layer_decay in (0, 1] but got 2.0"),
        ("--model.transfer.freeze=stem", "expected a part of ViT (encoder) but got 'stem'"),
        ("--model.transfer.freeze=all", "model.transfer.freeze"),
    ],
)
def test_mistakes_are_told_in_one_sentence(fit, option, message):
    code, _, err = fit(option)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert not Path("runs").exists()


@pytest.mark.slow
def test_two_processes_train_a_probe(source, tmp_path):
    options = [
        *("--config", "runs/source/config.yaml", "--run_name=two", "--trainer.accelerator=cpu"),
        *("--trainer.devices=2", "--trainer.strategy=ddp"),
        *(f"--model.transfer.weights={source}", "--model.transfer.freeze=body"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "fer_lightning.cli", "fit", *options],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    before, after = weights("source"), weights("two")
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"net.head.weight", "net.head.bias"}
