"""Precisions and strategies of the Trainer on a CPU: what it takes, and what it says otherwise."""

import json
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("precision", ["16-mixed", "bf16-mixed"])
def test_mixed_precision_keeps_weights_and_answers_in_full(fit, precision):
    code, _, err = fit(f"--trainer.precision={precision}", "--trainer.accelerator=cpu")
    assert code == 0, err
    run = next(Path("runs").iterdir())
    state = torch.load(run / "checkpoints/best.ckpt", weights_only=True)["state_dict"]
    assert {weights.dtype for weights in state.values() if weights.is_floating_point()} == {
        torch.float32
    }
    summary = json.loads((run / "summary.json").read_text())
    assert 0 < summary["test"]["nll"] < 3


def test_fsdp_needs_a_gpu_and_says_so(fit):
    code, _, err = fit("--trainer.strategy=fsdp", "--trainer.accelerator=cpu")
    assert code == 2
    assert "expected options that the Trainer takes but The strategy `fsdp` requires a GPU" in err
    assert not list(Path("runs").iterdir())
