import io
import json

import pytest
from rich.console import Console

from fer_lightning.execution.study.cells import Cell, CellFolder
from fer_lightning.execution.study.execute import Job
from fer_lightning.execution.study.progress import (
    LiveTable,
    Progress,
    line,
    progress_of,
    seconds_left,
    study_view,
)


def job(root, model="cnn", fraction=1.0, seed=1, **other):
    cell = Cell(model, fraction, seed, f"{model}{fraction}{seed}", {"trainer": {"max_epochs": 10}})
    return Job(cell, CellFolder(root / cell.name), **other)


def test_a_run_at_work_is_told_from_its_metrics(tmp_path):
    one = job(tmp_path)
    assert progress_of(one).state == "waiting"
    one.folder.path.mkdir()
    (one.folder.path / "run.json").write_text("{}")
    (one.folder.path / "metrics.csv").write_text("epoch,val/acc\n0,0.25\n1,0.5\n2,0.4\n")
    found = progress_of(one)
    assert (found.state, found.epochs, found.most_epochs, found.accuracy) == (
        "half-done",
        3,
        10,
        0.5,
    )
    one.folder.fail(3)
    assert progress_of(one).state == "failed"


def test_time_left_scales_with_epochs_and_data(tmp_path):
    jobs = [job(tmp_path), job(tmp_path, seed=2), job(tmp_path, fraction=0.5), job(tmp_path, "vit")]
    names = [one.cell.name for one in jobs]
    rows = {name: Progress(name, "waiting", 0, 10, None, None) for name in names}
    assert seconds_left(jobs, rows) is None
    rows[names[0]] = Progress(names[0], "done", 10, 10, 0.5, 100.0)  # 10 s an epoch
    # seed 2: 100 s; half the data: 50 s; vit, of which nothing is known yet: as the cnn, 100 s
    assert seconds_left(jobs, rows) == pytest.approx(250)
    rows[names[1]] = Progress(names[1], "running", 5, 10, 0.5, 50.0)
    assert seconds_left(jobs, rows) == pytest.approx(200)
    rows[names[3]] = Progress(names[3], "failed", 0, 10, None, None)
    assert seconds_left(jobs, rows) == pytest.approx(100)


def test_the_time_of_a_cell_holds_what_comes_before_and_after_its_training(tmp_path):
    one = job(tmp_path, done=True)
    one.folder.path.mkdir()
    summary = {"test": {"acc": 0.5}, "epochs": 1, "seconds": 0.04}
    (one.folder.path / "summary.json").write_text(json.dumps(summary))
    assert line(progress_of(one)).endswith("done: 1 epoch, test accuracy 0.500, 0.0 s")
    one.took = 12.3
    assert line(progress_of(one)).endswith(", 12 s")


def test_the_table_on_a_terminal(tmp_path):
    rows = [
        Progress("cnn-30pct-seed1", "done", 9, 10, 0.5, 61.0),
        Progress("vit-30pct-seed1", "running", 3, 10, 0.25, 5.0),
        Progress("vit-60pct-seed1", "failed", 0, 10, None, None),
    ]
    console = Console(file=io.StringIO(), width=100)
    console.print(study_view(rows, 90.0))
    text = console.file.getvalue()
    assert "test 0.500" in text
    assert "val 0.250" in text
    assert "0:01:01" in text
    assert "5.0 s" in text
    assert "1 done, 1 running, 1 failed, at most 0:01:30 left" in text


def test_lines_where_there_is_no_terminal(tmp_path):
    console = Console(file=io.StringIO(), width=100)
    one = job(tmp_path, began=1.0)
    with LiveTable([one], console) as table:
        table.watch(one)
        table.watch(one)
        one.began = None
        one.folder.path.mkdir()
        one.folder.fail(2)
        table.watch(one)
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("cnn-100pct-seed1 running")
    assert lines[1] == "cnn-100pct-seed1 failed; 0 of 1 done"


def test_a_cell_that_waits_is_told_in_two_words():
    assert line(Progress("a", "waiting", 0, 10, None, None)) == "a waiting"
