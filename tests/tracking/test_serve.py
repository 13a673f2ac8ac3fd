"""What TensorBoard's own server, with its fast reader, answers about our folders."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from fer_lightning.runs.folder import RunFolder
from fer_lightning.tracking.dashboard import Logdir, serve
from fer_lightning.tracking.tensorboard import TensorBoardTracker

PATIENCE = 60  # seconds


def log_epochs(folder, epochs, offset, cut_back=None):
    tracker = TensorBoardTracker(RunFolder(folder))
    if cut_back is not None:
        tracker.cut_back(cut_back)
    for epoch in epochs:
        tracker.log_metrics({"epoch": epoch, "val/acc": epoch + offset})
    tracker.finish()


def curve(address, run, length):
    """Points of a curve, once it has so many."""
    query = urllib.parse.urlencode({"tag": "val/acc", "run": run})
    found, until = [], time.monotonic() + PATIENCE
    while len(found) != length and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{address}data/plugin/scalars/scalars?{query}") as answer:
                found = [(step, value) for _, step, value in json.load(answer)]
        except urllib.error.HTTPError:  # not read yet
            time.sleep(0.1)
    return found


def test_a_resumed_run_behind_a_link_has_each_epoch_once(tmp_path):
    run = tmp_path / "runs/study/a"
    run.mkdir(parents=True)
    log_epochs(run, range(4), 0.0)
    log_epochs(run, range(2, 5), 0.5, cut_back=2)
    (tmp_path / "place").mkdir()
    Logdir(tmp_path / "runs", tmp_path / "place").refresh()
    address = serve(tmp_path / "place", 0)
    assert address.startswith("http://127.0.0.1:")
    expected = [(0, 0.0), (1, 1.0), (2, 2.5), (3, 3.5), (4, 4.5)]
    assert curve(address, "study/a", len(expected)) == expected


def test_the_dashboard_imports_no_torch():
    code = "import sys, fer_lightning.tracking.dashboard; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
