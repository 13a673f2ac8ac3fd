"""A Ray cluster of two hosts, which are network namespaces; one of them is lost in mid-run."""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from two_hosts import two_hosts, why_not

from fer_lightning.runs.collection import collect

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
VIT = ROOT / "configs/vit.yaml"
TINY = {
    "data.source": "drawn",
    "data.drawn.size": 280,
    "data.drawn.image_size": 32,
    "model.net.patch_size": 8,
    "model.net.dim": 16,
    "model.net.depth": 1,
    "model.net.heads": 2,
    "trainer.max_epochs": 30,
    "trainer.callbacks": "[]",
    "trainer.enable_progress_bar": "false",
    "early_stopping.patience": 30,
    "early_stopping.wait_for_majority": "false",
    "wandb.mode": "disabled",
    "tensorboard": "false",
}
STUDY = """
name: tiny
models: {vit: {}}
fractions: [1.0]
seeds: [1, 2]
overrides:
""" + "".join(f"  {name}: {value}\n" for name, value in TINY.items())
SWEEP = f"""
name: tiny
method: grid
metric: {{name: train/loss, goal: minimize}}
command: ["${{interpreter}}", -m, fer_lightning.cli, fit, --config, "{VIT}", "${{args}}"]
parameters:
  model.lr: {{values: [0.01, 0.0001]}}
""" + "".join(f'  {name}: {{value: "{value}"}}\n' for name, value in TINY.items())  # fmt: skip
PORT = 6379
SOON = {  # a lost host is noticed within seconds instead of a minute
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
}
READY = f"""
import ray, time
while not ray.is_initialized():
    try:
        ray.init(address="ADDRESS:{PORT}", log_to_driver=False)
    except ConnectionError:
        time.sleep(1)
while sum(node["Alive"] for node in ray.nodes()) < 2:
    time.sleep(0.5)
"""
TIMES = ["seconds", "started", "code"]
SPEED = ["train/epoch_seconds", "train/images_per_second"]


@pytest.fixture(scope="module", autouse=True)
def _can_make_hosts():
    pytest.importorskip("ray")
    if why := why_not():
        pytest.skip(why)


def environment():
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    ours = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    return os.environ | SOON | ours | {"RAY_USAGE_STATS_ENABLED": "0"}


@contextmanager
def ray_cluster(folder):
    """Give the two hosts with Ray, as docs/many_machines.md starts it, on both."""
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--num-cpus=2", "--block"]
    with (
        tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as scratch,
        two_hosts(folder) as hosts,
    ):
        one, two = hosts
        where = f"--node-ip-address={one.address}", f"--node-ip-address={two.address}"
        head = ["--head", f"--port={PORT}", where[0], f"--temp-dir={scratch}"]
        head += ["--include-dashboard=false"]
        more = [f"--address={one.address}:{PORT}", where[1]]
        one.start([*ray, *head], folder / "head.log", cwd=folder, env=environment())
        wait_for(lambda: list(Path(scratch).glob("session_latest/logs/raylet.out")))
        two.start([*ray, *more], folder / "two.log", scratch, cwd=folder, env=environment())
        ready = [sys.executable, "-c", READY.replace("ADDRESS", one.address)]
        made = one.start(ready, folder / "ready.log", cwd=folder, env=environment())
        assert made.wait(timeout=600) == 0, (folder / "ready.log").read_text()
        yield hosts


def wait_for(condition, seconds=600):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.2)


def words(what):
    return [sys.executable, "-m", "fer_lightning.cli", what, "tiny.yaml"]


def undisturbed(folder, what, text):
    folder.mkdir()
    (folder / "tiny.yaml").write_text(text)
    subprocess.run(words(what), cwd=folder, env=environment(), check=True, timeout=900)


def disturbed(folder, what, text, lose):
    """Run on both hosts and lose the second one when both are at work."""
    folder.mkdir()
    (folder / "tiny.yaml").write_text(text)
    with ray_cluster(folder) as (one, two):
        line = [*words(what), "--ray-address", f"{one.address}:{PORT}"]
        run = one.start(line, folder / "run.log", cwd=folder, env=environment())
        try:
            wait_for(lambda: run.poll() is not None or at_work(folder) >= 2)
            assert run.poll() is None, (folder / "run.log").read_text()
            lose(two)
            assert run.wait(timeout=900) == 0, (folder / "run.log").read_text()
        finally:
            run.kill()


def at_work(folder):
    """Count trainings with an epoch that are not complete."""
    files = folder.glob("runs/tiny/*/metrics.csv")
    return sum(not file.with_name("summary.json").is_file() for file in files)


def test_a_study_goes_on_when_a_host_is_cut_off(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    disturbed(two, "study", STUDY, lambda host: host.unplug())
    undisturbed(one, "study", STUDY)
    alone, together = (collect([folder / "runs/tiny"]) for folder in (one, two))
    assert not together.missing
    assert together.table.drop(columns=TIMES).equals(alone.table.drop(columns=TIMES))
    assert together.predictions.equals(alone.predictions)
    assert together.metrics.drop(columns=SPEED).equals(alone.metrics.drop(columns=SPEED))


def test_a_sweep_goes_on_when_a_host_loses_its_power(tmp_path):
    def off(host):
        host.unplug()
        host.end()

    one, two = tmp_path / "one", tmp_path / "two"
    disturbed(two, "sweep", SWEEP, off)
    undisturbed(one, "sweep", SWEEP)
    alone, together = (pd.read_csv(folder / "runs/tiny/sweep.csv") for folder in (one, two))
    assert together["state"].tolist() == ["done", "done"]
    same = [name for name in alone if not any(word in name for word in ("second", "started"))]
    pd.testing.assert_frame_equal(together[same], alone[same])
