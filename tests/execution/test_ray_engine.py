"""Ray trains cells side by side; the trainings are fakes."""

import os
import signal
import sys
import threading
from types import SimpleNamespace

import fake_executor
import pytest

from fer_lightning.errors import UserError
from fer_lightning.execution.study.execute import execute
from fer_lightning.execution.training import Stopped, try_lock
from fer_lightning.execution.workers import RayWorkers


def command(folder):
    return [sys.executable, str(fake_executor.TRAINER), str(folder.path)]


def test_without_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match="expected Ray"):
        RayWorkers(command, None)


@pytest.mark.parametrize(
    ("address", "where"), [(None, "on this machine"), ("there:6379", "at there:6379")]
)
def test_a_ray_that_does_not_start(monkeypatch, address, where):
    def init(**options):
        raise Exception("The current node timed out during startup.")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init))
    with pytest.raises(UserError, match=f"expected Ray to start {where} but The current node"):
        RayWorkers(command, address)


@pytest.mark.parametrize(("hosts", "cpus", "most"), [([1, 1], 1, 2), ([0, 4], 2, 2), ([1], 1, 1)])
def test_a_worker_fits_on_one_host_and_outlives_it(monkeypatch, hosts, cpus, most):
    asked = {}
    ray = SimpleNamespace(
        init=lambda **options: None,
        cluster_resources=lambda: {"CPU": sum(hosts)},
        nodes=lambda: [{"Alive": True, "Resources": {"CPU": many}} for many in hosts],
        remote=lambda **options: asked.update(options) or (lambda function: function),
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    workers = RayWorkers(command, "there:6379")
    assert (asked["num_cpus"], workers.free) == (cpus, most)
    assert asked["max_retries"] > 0


@pytest.mark.slow
def test_all_cells_and_a_failing_one(tmp_path):
    pytest.importorskip("ray")
    seen = []
    jobs = fake_executor.jobs_of(tmp_path, fails="yes")
    outcomes = execute(jobs, RayWorkers(command, None, cpus=1), seen.append)
    assert len(outcomes) == 8
    assert {how for name, how in outcomes.items() if name.startswith("cnn")} == {"done"}
    assert {how for name, how in outcomes.items() if name.startswith("bad")} == {"failed"}
    assert seen[-1] is None
    again = fake_executor.jobs_of(tmp_path, fails="yes")
    assert sum(job.done for job in again) == 4
    assert execute(again, RayWorkers(command, None, cpus=1)) == {}


@pytest.mark.slow
def test_a_signal_ends_the_trainings(tmp_path):
    pytest.importorskip("ray")
    jobs = [job for job in fake_executor.jobs_of(tmp_path, sleep="60") if job.cell.model == "bad"]

    def stop(job):
        if job is not None and job.folder.state == "half-done":
            threading.Timer(0, os.kill, (os.getpid(), signal.SIGTERM)).start()

    with pytest.raises(Stopped):
        execute(jobs, RayWorkers(command, None, cpus=1), stop)
    for lock in tmp_path.glob("*/lock"):
        with lock.open("a+") as file:
            assert try_lock(file), "a training is still at work"
