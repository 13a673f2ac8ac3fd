"""Starting the page: what is missing, and ports."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fer_lightning.commands import demo


def test_without_gradio_it_says_what_to_install(run, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    code, _, err = run("demo")
    assert code == 2
    assert "pip install 'fer-lightning[demo]'" in err
    assert err.count("\n") == 1


def test_what_was_uploaded_is_removed_even_when_the_page_is_killed(tmp_path):
    words = "from fer_lightning.commands.demo import passing_folder as made; print(made()); input()"
    with subprocess.Popen(
        [sys.executable, "-c", words],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        place = Path(process.stdout.readline().strip())
        assert place.parent == tmp_path
        (place / "upload").mkdir()
        (place / "upload" / "face.png").write_bytes(b"a face")
        process.kill()
    deadline = time.monotonic() + 60
    while place.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not place.exists()


def test_a_taken_port(run):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, err = run("demo", f"--port={port}")
        assert code == 2
        assert f"expected port {port} of 127.0.0.1 to be free but it cannot be used" in err
        assert demo.free_port("127.0.0.1", None) != port


@pytest.mark.parametrize("option", ["--port=0", "--port=70000"])
def test_no_port(run, option):
    code, _, err = run("demo", option)
    assert code == 2
    assert "expected a port from 1 to 65535" in err


def test_an_address_of_another_machine(run):
    code, _, err = run("demo", "--share-on=192.0.2.1", "--port=7999")
    assert code == 2
    assert "of 192.0.2.1 to be free but it cannot be used" in err


def test_without_gradio_one_sentence(run, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    code, _, err = run("demo")
    assert code == 2
    assert "pip install 'fer-lightning[demo]'" in err
