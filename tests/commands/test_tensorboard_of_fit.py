"""A real fit and its event files beside metrics.csv and the pictures of the run folder."""

import csv
import json
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

FOLDER = Path("runs/vit-seed42")
LOOKS = [
    {"class_path": "fer_lightning.callbacks.ConfusionCallback"},
    {
        "class_path": "fer_lightning.callbacks.EmbeddingCallback",
        "init_args": {"every_n_epochs": 1, "perplexity": 5},
    },
]


def test_event_files_hold_what_the_run_folder_holds(fit):
    code, _, err = fit(f"--trainer.callbacks={json.dumps(LOOKS)}")
    assert code == 0, err
    events = EventAccumulator(str(FOLDER / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    shown = events.Tags()
    rows = list(csv.DictReader((FOLDER / "metrics.csv").read_text().splitlines()))
    for name in rows[0].keys() - {"epoch"}:
        curve = {point.step: point.value for point in events.Scalars(name)}
        assert curve == pytest.approx(
            {int(row["epoch"]): float(row[name]) for row in rows}, rel=1e-4, nan_ok=True
        )
    only_here = set(shown["scalars"]) - set(rows[0])
    assert {name for name in only_here if not name.startswith("test/")} == {"val/best_acc"}
    summary = json.loads((FOLDER / "summary.json").read_text())
    assert events.Scalars("test/acc")[-1].value == pytest.approx(summary["test"]["acc"])
    assert set(shown["images"]) == {
        *("val/confusion", "val/tsne", "test/confusion", "test/tsne", "test/reliability")
    }
    assert [picture.step for picture in events.Images("val/confusion")] == [0, 1]
    config = (FOLDER / "tensorboard/projector_config.pbtxt").read_text()
    assert "val_features.tensor" in config
    assert "test_features.png" in config


def test_without_the_package_it_says_so_and_trains(fit, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    code, _, err = fit("--trainer.max_epochs=1")
    assert code == 0, err
    assert err.count("TensorBoard is not installed") == 1
    assert not (FOLDER / "tensorboard").exists()


def test_it_can_be_switched_off(fit):
    assert fit("--trainer.max_epochs=1", "--tensorboard=false")[0] == 0
    assert not (FOLDER / "tensorboard").exists()
