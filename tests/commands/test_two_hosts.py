"""The documented line of torchrun on two hosts, which are network namespaces of this machine."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from two_hosts import CABLE, two_hosts, why_not

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
FIT = [
    *("fit", "--model.net=cnn", "--model.net.widths=[4,4,8,8]", "--model.net.feature_width=16"),
    *("--data.source=drawn", "--data.drawn.size=210", "--data.eval_batch_size=10"),
    *("--data.batch_size=16", "--trainer.max_epochs=2", "--trainer.accelerator=cpu"),
    *("--trainer.enable_progress_bar=false", "--wandb.mode=disabled", "--tensorboard=false"),
    *("--report=false", "--trainer.callbacks+=fer_lightning.callbacks.FocusCallback"),
    "--trainer.callbacks.init_args.samples=15",
]
TWO = ["--trainer.devices=1", "--trainer.num_nodes=2", "--trainer.strategy=ddp"]
LINE = [  # as docs/many_machines.md has it
    *(sys.executable, "-m", "torch.distributed.run"),
    *("--nnodes=2", "--nproc_per_node=1", "--rdzv_backend=c10d", "--rdzv_endpoint=one:29500"),
    *("-m", "fer_lightning.cli"),
]


@pytest.fixture(scope="module", autouse=True)
def _can_make_hosts():
    if why := why_not():
        pytest.skip(why)


def environment():
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}


def on_both(folder, of_host=lambda host: {}, home=None, **variables):
    """Run the line on both hosts; return how it ended and what was printed, by host."""
    with two_hosts(folder, home) as hosts:
        started = [
            host.start(
                [*LINE, *FIT, *TWO, "--run_name=two", *of_host(host).get("options", [])],
                folder / f"{host.name}.log",
                of_host(host).get("own"),
                cwd=folder,
                env=environment() | variables,
            )
            for host in hosts
        ]
        codes = wait_for_both(started)
    return codes, [(folder / f"{host.name}.log").read_text() for host in hosts]


def wait_for_both(started, seconds=900, alone=60):
    """Return the exit codes; a host that waits for one that has failed is killed after `alone`."""
    until = time.monotonic() + seconds
    while any(one.poll() is None for one in started) and time.monotonic() < until:
        if any(one.poll() for one in started):
            until = min(until, time.monotonic() + alone)
        time.sleep(0.5)
    for one in started:
        if one.poll() is None:
            os.killpg(one.pid, signal.SIGKILL)
    return [one.wait() for one in started]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run on two hosts, and the test of its best checkpoint by one process."""
    folder = tmp_path_factory.mktemp("hosts")
    codes, said = on_both(folder)
    assert codes == [0, 0], "\n".join(said)
    words = [sys.executable, "-m", "fer_lightning.cli", "test"]
    run = folder / "runs/two"
    words += [f"--config={run}/config.yaml", f"--ckpt_path={run}/checkpoints/best.ckpt"]
    words += ["--trainer.num_nodes=1", "--trainer.strategy=auto", "--run_name=one"]
    subprocess.run(words, cwd=folder, env=environment(), check=True, timeout=600)
    return folder


def test_there_is_one_run_folder(folder):
    assert sorted(path.name for path in (folder / "runs").iterdir()) == ["one", "two"]
    assert json.loads((folder / "runs/two/summary.json").read_text())["processes"] == 2


def test_predictions_equal_those_of_one_process(folder):
    one, two = (np.load(folder / f"runs/{name}/predictions.npz") for name in ("one", "two"))
    split = json.loads((folder / "runs/two/split.json").read_text())
    assert two["row"].tolist() == sorted(split["test"])  # each image exactly once
    np.testing.assert_array_equal(one["row"], two["row"])
    np.testing.assert_allclose(one["logits"], two["logits"], atol=1e-5)
    of_one, of_two = (
        json.loads((folder / f"runs/{n}/summary.json").read_text())["test"] for n in ("one", "two")
    )
    assert (of_one["acc"], of_one["confusion"]) == (of_two["acc"], of_two["confusion"])


def test_focus_equals_that_of_one_process(folder):
    one, two = (
        list(csv.DictReader((folder / f"runs/{name}/focus.csv").read_text().splitlines()))
        for name in ("one", "two")
    )
    assert one
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        assert a.keys() == b.keys()
        for name in a:
            try:
                assert float(a[name]) == pytest.approx(float(b[name]), rel=1e-3, abs=1e-6)
            except ValueError:
                assert a[name] == b[name]


def test_a_run_folder_that_is_not_shared_is_noticed_before_the_first_step(tmp_path):
    (tmp_path / "runs").mkdir()
    own = {"two": {"own": tmp_path / "runs"}}
    codes, said = on_both(tmp_path, lambda host: own.get(host.name, {}))
    assert 0 not in codes
    for text in said:
        assert f"expected the run folder {tmp_path}/runs/two on every host but two" in text
    assert not (tmp_path / "runs/two/metrics.csv").exists()


def test_other_images_on_one_host_are_noticed(tmp_path):
    other = {"two": {"options": ["--data.drawn.size=217"]}}
    codes, said = on_both(tmp_path, lambda host: other.get(host.name, {}))
    assert 0 not in codes
    assert "expected the images of one on every host but two has others" in said[0]


def test_hosts_whose_own_names_lead_home_need_the_name_of_their_network_card(tmp_path):
    """Debian writes 127.0.1.1 for a machine's own name; gloo then listens where nobody calls."""
    codes, said = on_both(tmp_path, home="127.0.1.1")
    assert 0 not in codes
    assert any("Gloo connectFullMesh failed" in text for text in said)
    codes, said = on_both(tmp_path, home="127.0.1.1", GLOO_SOCKET_IFNAME=CABLE)
    assert codes == [0, 0], "\n".join(said)
