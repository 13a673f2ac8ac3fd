"""A report as a W&B run, without an account."""

import json
import signal
import time

import numpy as np
import pytest
from PIL import Image

from fer_lightning.tracking.wandb_api import log_report


def test_tables_figures_and_page_are_in_the_offline_run(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    page, figure = tmp_path / "report.html", tmp_path / "accuracy.png"
    page.write_text("<!doctype html><title>A study</title>")
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(figure)
    rows = [["cnn", 0.5, None], ["vit", "0.3 ± 0.1", 2]]
    told = log_report("p", "a study", {"accuracy": (["model", "x", "y"], rows)}, [figure], page)
    assert told.startswith("W&B offline; to upload it later: wandb sync")
    media = next(tmp_path.glob("wandb/offline-run-*/files/media"))
    (table,) = media.rglob("*.table.json")
    saved = json.loads(table.read_text())
    assert saved["columns"] == ["model", "x", "y"]
    assert saved["data"] == rows
    assert list(media.rglob("accuracy*.png"))
    assert "A study" in next(media.rglob("*.html")).read_text()


def test_a_failure_closes_the_run(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    page = tmp_path / "report.html"
    with pytest.raises(FileNotFoundError):
        log_report("p", "a study", {}, [], page)
    import wandb

    assert wandb.run is None


def test_online_it_is_a_run_of_the_project(tmp_path, wandb_server):
    page = tmp_path / "report.html"
    page.write_text("<!doctype html><title>A study</title>")
    rows = {"accuracy": (["model", "x"], [["cnn", 0.5]])}
    assert log_report("faces", "a study", rows, [], page).startswith("W&B: http://127.0.0.1")
    (run,) = wandb_server.state.runs.values()
    assert run.state == "finished"
    assert run.logged("tables/accuracy")[0]["nrows"] == 1
    assert run.logged("report")


def test_a_server_that_is_gone_leaves_an_offline_run(tmp_path, wandb_server):
    wandb_server.stop()
    page = tmp_path / "report.html"
    page.write_text("<!doctype html><title>A study</title>")
    told = log_report("faces", "a study", {}, [], page)
    assert told.startswith("W&B offline (no connection to http://127.0.0.1")
    assert "wandb sync" in told
    assert list(tmp_path.glob("wandb/offline-run-*"))


def test_a_process_of_wandb_that_does_not_hear_is_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    import wandb

    from fer_lightning.tracking.wandb import end_service

    wandb.init(project="p", dir=tmp_path).finish()
    process = wandb.setup()._connection._proc._process
    process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    end_service(seconds=1)
    assert time.monotonic() - began < 30
    assert process.returncode == -signal.SIGKILL
    wandb.init(project="p", dir=tmp_path).finish()  # with a new one
    assert len(list(tmp_path.glob("wandb/offline-run-*"))) == 2
