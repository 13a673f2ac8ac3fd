"""Studies that fail, are stopped and are killed; the trainings are fakes that take no time."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import fake_executor
import pytest
from fake_executor import jobs_of, run

from fer_lightning.runs.collection import collect

SCRIPT = Path(fake_executor.__file__)
NUMBERS = ["model", "fraction", "seed", "val_acc", "test_acc", "epochs", "identity", "folder"]


def start(out, *options):
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(out), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for(condition, seconds=60):
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.01)
    return found


def rows(out):
    return collect([out]).table[NUMBERS].to_dict("records")


def epochs_of(out, number):
    """Whether the first cells have that many epochs in all."""
    files = list(out.glob("*/metrics.csv"))
    return sum(len(file.read_text().split()) - 1 for file in files) >= number


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    assert set(run(out, sleep="0.06").values()) == {"done"}
    return rows(out)


def test_all_cells_are_trained_and_told(undisturbed, tmp_path, capsys):
    assert len(undisturbed) == 8
    run(tmp_path, sleep="0.06")
    told = capsys.readouterr().out
    assert "cnn-30pct-seed42 running" in told
    assert "cnn-30pct-seed42 done: 4 epochs, test accuracy 0.200" in told
    assert "8 of 8 done" in told
    assert "0:00:00" not in told
    assert run(tmp_path, sleep="0.06") == {}, "nothing is left to do"


def test_killed_three_times_gives_the_same_table(undisturbed, tmp_path):
    for epochs in (2, 9, 17):
        study = start(tmp_path, "sleep=0.06")
        wait_for(lambda study=study, epochs=epochs: epochs_of(tmp_path, epochs) or study.poll())
        study.kill()
        study.communicate()
    assert set(run(tmp_path, sleep="0.06").values()) == {"done"}
    assert rows(tmp_path) == undisturbed


def test_the_training_of_a_killed_study_is_waited_for(tmp_path):
    study = start(tmp_path, "sleep=0.2")
    wait_for(lambda: epochs_of(tmp_path, 5))  # the second cell, whose epochs take longer
    study.kill()
    study.communicate()
    run(tmp_path, sleep="0.2")
    for log in tmp_path.glob("*/log.txt"):
        assert log.read_text().split() == ["from", "epoch", "0"], "trained once, by one process"


def test_a_killed_training_goes_on_next_time(tmp_path):
    study = start(tmp_path, "sleep=5")
    wait_for(lambda: list(tmp_path.glob("bad-30pct-seed42-*/run.json")))
    children = wait_for(lambda: _children(study.pid))
    os.kill(children[0], signal.SIGKILL)
    folder = next(tmp_path.glob("bad-30pct-seed42-*"))
    wait_for(lambda: list(tmp_path.glob("cnn-100pct-seed42-*/summary.json")))
    study.send_signal(signal.SIGTERM)
    study.communicate(timeout=60)
    assert not (folder / "failed.json").exists()


def _children(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_passed_on_and_everything_can_go_on(tmp_path, how):
    study = start(tmp_path, "sleep=30")
    wait_for(lambda: list(tmp_path.glob("bad-30pct-seed42-*/run.json")))
    child = wait_for(lambda: _children(study.pid))[0]
    study.send_signal(how)
    out, _ = study.communicate(timeout=60)
    assert study.returncode == 130
    assert out.endswith("stopped\n")
    assert not Path(f"/proc/{child}").exists()
    assert {job.folder.state for job in jobs_of(tmp_path, sleep="30")} == {
        "done",
        "half-done",
        "waiting",
    }


def test_a_failed_cell_stops_no_other_and_is_tried_again_when_asked(tmp_path):
    outcomes = run(tmp_path, fails="yes")
    assert outcomes["bad-30pct-seed42"] == "failed"
    assert [name for name, how in outcomes.items() if how == "done"] == [
        f"cnn-{share}pct-seed{seed}" for seed in (42, 43) for share in (30, 100)
    ]
    bad = next(job for job in jobs_of(tmp_path, fails="yes") if job.cell.model == "bad")
    assert bad.folder.last_words() == "error: expected luck but got none"
    assert json.loads(bad.folder.failed.read_text())["code"] == 3
    assert run(tmp_path, fails="yes") == {}, "not tried again by itself"
    (tmp_path / "mended").touch()
    assert set(run(tmp_path, retry_failed=True, fails="yes").values()) == {"done"}
    assert not collect([tmp_path]).missing


def test_an_edited_study_trains_only_what_changed(tmp_path):
    run(tmp_path, sleep="0.01")
    outcomes = run(tmp_path, sleep="0.02")  # another option of the model bad
    assert {name.split("-")[0] for name in outcomes} == {"bad"}
    assert run(tmp_path, sleep="0.01") == {}, "the runs of before are still there"


def test_two_studies_in_one_folder(tmp_path):
    study = start(tmp_path, "sleep=30")
    wait_for(lambda: (tmp_path / "study.json").is_file())
    second = start(tmp_path)
    out, _ = second.communicate(timeout=60)
    assert second.returncode == 2
    assert f"process {study.pid} is at work there" in out
    study.send_signal(signal.SIGTERM)
    study.communicate(timeout=60)


def test_a_lock_of_a_dead_process_holds_nobody(tmp_path):
    (tmp_path / "lock").write_text("1\n")
    assert fake_executor.run(tmp_path, sleep="0.01")
