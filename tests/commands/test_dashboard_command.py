"""`fer-lightning dashboard` as a user runs it."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from fake_run import write_run

from fer_lightning.cli import main

PATIENCE = 120  # seconds


@pytest.fixture
def taken():
    """A port in use."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_it_prints_its_address_shows_runs_and_ends_quietly(tmp_path):
    write_run(tmp_path / "runs/a", summary=False)
    write_run(tmp_path / "runs/b")
    with (tmp_path / "runs/b/metrics.csv").open("a") as file:
        file.write("3,broken\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "fer_lightning.cli", "dashboard", "runs", "--port=0"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a shell starts background jobs, such as a test run, with SIGINT ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        address = lines[2].split()[1]
        assert address.startswith("http://127.0.0.1:")
        runs = "[]"
        until = time.monotonic() + PATIENCE
        while "a" not in runs and time.monotonic() < until:
            with urllib.request.urlopen(f"{address}data/runs", timeout=PATIENCE) as answer:
                runs = answer.read().decode()
            time.sleep(0.2)
        assert '"a"' in runs
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert lines[0] == "2 runs in runs, 2 of them without event files: converted for this page\n"
    assert lines[1] == "Without summary.json (at work, or stopped): a\n"
    assert err.splitlines() == [
        "warning: runs/b/metrics.csv, line 5: expected numbers but got 2 of 3 columns; "
        "it is left out"
    ]
    assert not list(tmp_path.glob("fer-lightning-dashboard-*")), "nothing is left behind"


def test_a_port_in_use_is_one_sentence(tmp_path, taken, capsys):
    write_run(tmp_path / "a")
    assert main(["dashboard", str(tmp_path), f"--port={taken}"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: expected port {taken} to be free but it cannot be used")
    assert "choose another --port, or leave it out" in err
    assert err.count("\n") == 1


def test_no_port_and_no_folder(tmp_path, capsys):
    write_run(tmp_path / "a")
    assert main(["dashboard", str(tmp_path), "--port=70000"]) == 2
    assert "expected a port from 0 to 65535 but got 70000" in capsys.readouterr().err
    assert main(["dashboard", str(tmp_path / "none")]) == 2
    assert "expected a folder of runs but found nothing" in capsys.readouterr().err


def test_without_the_package_it_is_one_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    assert main(["dashboard", str(tmp_path)]) == 2
    assert "expected TensorBoard but it is not installed" in capsys.readouterr().err
