"""Sweeps that fail, are stopped and are killed; the trainings are fakes that take no time."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import fake_sweep
import pandas as pd
import pytest
from fake_sweep import RANDOM, run, sweep_of

from fer_lightning.errors import UserError
from fer_lightning.execution.sweep.trial import read_state
from fer_lightning.execution.training import Stopped

GRID = RANDOM | {"method": "grid", "parameters": {"lr": {"values": [0.1, 0.2, 0.3, 0.4]}}}
HYPERBAND = RANDOM | {
    "method": "grid",
    "early_terminate": {"type": "hyperband", "min_iter": 1, "eta": 2},
    "parameters": {"lr": {"values": [0.9, 0.8, 0.1, 0.85]}},
}


def start(out, content, count=4, parallel=1):
    return subprocess.Popen(
        [sys.executable, fake_sweep.__file__, out, str(count), str(parallel), json.dumps(content)],
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


def epochs(out):
    return sum(len(file.read_text().split()) - 1 for file in out.glob("*/metrics.csv"))


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def table(out):
    return pd.read_csv(out / "sweep.csv")


def with_sleep(content, seconds):
    return content | {"parameters": content["parameters"] | {"sleep": {"value": seconds}}}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    run(out, sweep_of(RANDOM), 4)
    return table(out)


def test_all_runs_are_trained_told_and_not_trained_again(undisturbed, tmp_path, capsys):
    assert undisturbed["state"].tolist() == ["done"] * 4
    assert undisturbed["val/acc"].tolist() == pytest.approx((0.4 * undisturbed["lr"]).tolist())
    run(tmp_path, sweep_of(RANDOM), 2, parallel=2)
    told = capsys.readouterr().out
    assert "s-001 running: lr=" in told
    assert "2 done of 2 runs; best val/acc" in told
    state = run(tmp_path, sweep_of(RANDOM), 3)
    assert [trial.state for trial in state.trials] == ["done"] * 3
    logs = [trial.folder.log.read_text() for trial in state.trials]
    assert logs == ["from epoch 0\n"] * 3, "each was trained once"
    assert table(tmp_path)["lr"].tolist() == undisturbed["lr"].tolist()[:3], "the seed decides"


def test_killed_three_times_gives_the_same_table(undisturbed, tmp_path):
    for done, whom in ((1, "both"), (6, "sweep"), (11, "both")):
        sweep = start(tmp_path, with_sleep(RANDOM, 0.02))
        wait_for(lambda sweep=sweep, done=done: epochs(tmp_path) >= done or sweep.poll())
        working = children(sweep.pid)
        sweep.kill()
        for child in working if whom == "both" else []:
            os.kill(child, signal.SIGKILL)
        sweep.communicate()
    run(tmp_path, sweep_of(RANDOM), 4)
    assert table(tmp_path).equals(undisturbed)


def test_hyperband_ends_a_bad_run_which_stays_ended(tmp_path):
    state = run(tmp_path, sweep_of(HYPERBAND, sleep=0.25, epochs=6), 4)
    assert [trial.state for trial in state.trials] == ["done", "done", "stopped", "done"]
    found = table(tmp_path)
    assert found["state"].tolist()[2] == "stopped"
    assert 2 <= len((tmp_path / "s-003/metrics.csv").read_text().split()) - 1 < 6
    assert not list(tmp_path.glob("*/failed.json")), "to be stopped is no failure"
    again = run(tmp_path, sweep_of(HYPERBAND, sleep=0.25, epochs=6), 4)
    assert [trial.state for trial in again.trials] == [trial.state for trial in state.trials]
    assert "from epoch" in (tmp_path / "s-003/log.txt").read_text()
    assert (tmp_path / "s-003/log.txt").read_text().count("from epoch") == 1


def test_a_failed_run_stops_no_other_and_is_tried_again_when_asked(tmp_path, capsys):
    sweep = sweep_of(RANDOM | {"method": "grid", "parameters": GRID["parameters"]})
    sweep.parameters["fails"] = {"values": [False, True]}
    state = run(tmp_path, sweep, 8, parallel=2)
    states = {t.name: (t.state, t.parameters["fails"]) for t in state.trials}
    assert set(states.values()) == {("done", False), ("failed", True)}
    bad = next(trial for trial in state.trials if trial.state == "failed")
    assert bad.folder.last_words() == "error: expected luck but got none"
    run(tmp_path, sweep, 8)
    assert bad.folder.log.read_text().count("from epoch") == 1, "not tried again by itself"
    (tmp_path / "mended").touch()
    again = run(tmp_path, sweep, 8, parallel=2, retry_failed=True)
    assert {trial.state for trial in again.trials} == {"done"}


def test_a_point_that_no_training_takes_is_a_failed_run(tmp_path):
    content = RANDOM | {"method": "grid", "parameters": {"lr": {"values": ["refused", 0.5]}}}
    state = run(tmp_path, sweep_of(content), 2)
    assert [trial.state for trial in state.trials] == ["failed", "done"]
    assert state.trials[0].folder.last_words() == "error: expected a number but got refused"


def test_a_signal_ends_all_trainings_and_nobody_else_works_there(tmp_path):
    sweep = start(tmp_path, with_sleep(GRID, 30), parallel=2)
    wait_for(lambda: len(list(tmp_path.glob("*/run.json"))) == 2)
    with pytest.raises(UserError, match=f"process {sweep.pid} is at work there"):
        run(tmp_path, sweep_of(GRID, sleep=30), 4)
    working = wait_for(lambda: children(sweep.pid))
    sweep.send_signal(signal.SIGINT)
    out, _ = sweep.communicate(timeout=60)
    assert sweep.returncode == 130, out
    assert out.endswith("stopped\n")
    assert not any(Path(f"/proc/{child}").exists() for child in working)
    assert [trial.state for trial in read_state(tmp_path).trials] == ["half-done"] * 2


def test_a_killed_training_is_left_for_the_next_time(tmp_path):
    def kill():
        wait_for(lambda: list(tmp_path.glob("s-002/run.json")))
        for child in children(os.getpid()):
            if str(tmp_path / "s-002") in Path(f"/proc/{child}/cmdline").read_text():
                os.kill(child, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    state = run(tmp_path, sweep_of(GRID, sleep=0.2), 4)
    killer.join()
    assert [trial.state for trial in state.trials] == ["done", "half-done", "done", "done"]
    assert {t.state for t in run(tmp_path, sweep_of(GRID, sleep=0.2), 4).trials} == {"done"}


def test_a_metric_that_is_never_logged_ends_the_sweep(tmp_path):
    content = GRID | {"metric": {"name": "val/accuracy", "goal": "maximize"}}
    with pytest.raises(UserError, match=r"metric 'val/accuracy'.*did you mean 'val/acc'"):
        run(tmp_path, sweep_of(content), 4)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"method": "random"}, "method of s.yaml changed"),
        ({"parameters": {"lr": {"values": [1]}}}, "parameters of s.yaml changed"),
    ],
)
def test_another_sweep_does_not_go_on_in_the_folder(tmp_path, change, why):
    run(tmp_path, sweep_of(GRID), 1)
    with pytest.raises(UserError, match=why):
        run(tmp_path, sweep_of(GRID | change), 4)


def test_a_damaged_state_is_told(tmp_path):
    (tmp_path / "sweep.json").write_text('{"name": "s"}')
    with pytest.raises(UserError, match="damaged"):
        run(tmp_path, sweep_of(GRID), 1)
    (tmp_path / "sweep.json").write_text('{"name"')
    with pytest.raises(UserError, match="expected JSON"):
        run(tmp_path, sweep_of(GRID), 1)


@pytest.mark.slow
def test_ray_runs_and_stops_early(tmp_path):
    pytest.importorskip("ray")
    from fer_lightning.execution.workers import RayWorkers

    workers = RayWorkers(fake_sweep.command, None, parallel=2, cpus=1)
    state = run(tmp_path, sweep_of(HYPERBAND, sleep=0.5, epochs=6), 4, workers=workers)
    assert {trial.state for trial in state.trials} == {"done", "stopped"}
    assert state.trials[2].state == "stopped"
    assert not list(tmp_path.glob("*/failed.json"))


@pytest.mark.slow
def test_a_signal_ends_the_trainings_of_ray(tmp_path):
    pytest.importorskip("ray")
    from fer_lightning.execution.workers import RayWorkers

    def stop():
        wait_for(lambda: list(tmp_path.glob("*/run.json")))
        os.kill(os.getpid(), signal.SIGTERM)

    workers = RayWorkers(fake_sweep.command, None, parallel=1, cpus=1)
    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(Stopped):
        run(tmp_path, sweep_of(GRID, sleep=60), 4, workers=workers)
    stopper.join()
    assert read_state(tmp_path).trials[0].state == "half-done"
