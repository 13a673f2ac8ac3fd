"""Starting the page: what is missing, and ports."""

import socket

import pytest

from fer_lightning.commands import demo


def test_without_any_checkpoint_it_says_how_to_make_one(run, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda name: name)  # as if gradio were there
    code, _, err = run("demo")
    assert code == 2
    assert "'fer-lightning fit --config vit'" in err
    assert err.count("\n") == 1


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
