"""A run that early stopping ended and that was killed before its test goes on with the test."""

import csv
import json
from pathlib import Path


def test_no_epoch_is_added(fit):
    options = (
        *("--trainer.max_epochs=6", "--model.lr=1e-12", "--early_stopping.patience=1"),
        "--early_stopping.wait_for_majority=false",
    )
    assert fit(*options)[0] == 0
    run = Path("runs/vit-seed42")
    before = json.loads((run / "summary.json").read_text())
    rows = list(csv.DictReader((run / "metrics.csv").open()))
    assert before["epochs"] == len(rows) == 2, "stopped as soon as possible"
    (run / "summary.json").unlink()
    (run / "predictions.npz").unlink()
    assert fit(*options, "--resume")[0] == 0
    after = json.loads((run / "summary.json").read_text())
    assert (after["epochs"], after["test"]) == (before["epochs"], before["test"])
    assert list(csv.DictReader((run / "metrics.csv").open())) == rows
