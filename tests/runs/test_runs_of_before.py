"""Run folders and checkpoints of version 0.1 go on working: read, resumed, counted as done."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from fer_lightning.cli import main
from fer_lightning.data.regions import FACE
from fer_lightning.runs.identity import decisive, identity
from fer_lightning.runs.run import read_run
from fer_lightning.training.checkpoint import load_net

BEFORE = Path(__file__).parents[1] / "fixtures" / "run_0_1"


@pytest.fixture
def half(tmp_path, monkeypatch):
    """A run that was interrupted after the first of two epochs, at its own place."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "disabled")
    folder = tmp_path / "runs" / "half"
    shutil.copytree(BEFORE / "half", folder)
    path = folder / "checkpoints" / "last.ckpt"
    checkpoint = torch.load(path, weights_only=True)

    def placed(value):
        if isinstance(value, dict):
            return {placed(k): placed(v) for k, v in value.items()}
        known = isinstance(value, str) and value.startswith("RUN/")
        return str(folder / value.removeprefix("RUN/")) if known else value

    states = checkpoint["callbacks"]
    checkpoint["callbacks"] = {name: placed(state) for name, state in states.items()}
    torch.save(checkpoint, path)
    shutil.copyfile(path, path.with_name("best.ckpt"))
    return folder


def test_a_run_is_resumed_and_ends_with_the_same_numbers(half):
    config = half / "config.yaml"
    assert main(["fit", f"--config={config}", f"--resume={half}"]) == 0
    found, expected = (
        json.loads((folder / "summary.json").read_text()) for folder in (half, BEFORE / "whole")
    )
    for stage in ("val", "test"):
        assert found[stage]["nll"] == pytest.approx(expected[stage]["nll"], rel=1e-6)
        assert found[stage]["confusion"] == expected[stage]["confusion"]
    old, new = (pd.read_csv(folder / "focus_epochs.csv") for folder in (BEFORE / "whole", half))
    new = new[new["method"] == "grad_cam"].drop(columns="method").reset_index(drop=True)
    keys = ["epoch", "maps", "metric", "region"]
    both = old.merge(new, on=keys, suffixes=("_old", "_new"))
    assert len(both) == len(old) == len(new)
    np.testing.assert_allclose(both["median_old"], both["median_new"], rtol=1e-5)


def test_a_complete_run_is_read_with_its_older_names():
    run = read_run(BEFORE / "whole")
    assert run.regions == FACE
    assert run.methods == ["grad_cam"]
    assert set(run.hiding["region"]) == {"key", "background"}
    assert set(run.focus["source"]) >= {"model", "uniform", "untrained"}
    assert {"method", "resolution", "lfr_key"} <= set(run.focus_samples)


def test_its_page_is_written(tmp_path):
    shutil.copytree(BEFORE / "whole", tmp_path / "whole")
    assert main(["report", str(tmp_path / "whole")]) == 0
    assert "KEY" in (tmp_path / "whole" / "report.html").read_text()


def test_its_checkpoint_is_loaded(half):
    net, about = load_net(half / "checkpoints" / "last.ckpt")
    assert (net.init_args["dim"], about["version"]) == (8, "0.1.0")


def test_its_identity_is_what_it_was():
    config = yaml.safe_load((BEFORE / "whole" / "config.yaml").read_text())
    assert identity(decisive(config, "81a0229f3049c1d5")) == "c15a88c4b8dfe372"
