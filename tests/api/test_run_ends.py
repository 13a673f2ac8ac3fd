"""How a run ends that cannot go on: alone in its folder, in time, and with a sentence."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack, suppress
from hashlib import pbkdf2_hmac

import lightning as L
import pytest
from file_systems import mounted
from tiny_run import exit_code, forked, kill_after, killed, results, train

from fer_lightning.api import training_run
from fer_lightning.cli import main as cli
from fer_lightning.errors import UserError
from fer_lightning.execution.training import TERMINATED


def wait_for(path, seconds=60):
    until = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < until
        time.sleep(0.01)


class Act(L.Callback):
    """Does something in a hook of a run; without a mark nothing."""

    def __init__(self, hook="on_test_end", act=None):
        if act is not None:
            setattr(self, hook, lambda *args: act())


def sleep():
    time.sleep(600)


def compute():  # where no signal is heard
    pbkdf2_hmac("sha256", b"", b"", 1 << 26)  # half a minute or more


@pytest.mark.parametrize(
    ("hook", "act"),
    [("on_test_end", sleep), ("on_test_end", compute), ("on_validation_end", sleep)],
)
def test_ends_within_ten_seconds(undisturbed, tmp_path, hook, act, capfd):
    mark = tmp_path / "mark"

    def act_marked():
        mark.touch()
        act()

    child = forked(lambda: train(tmp_path / "run", callbacks=[Act(hook, act_marked)], quiet=False))
    wait_for(mark)
    asked = time.monotonic()
    os.kill(child, signal.SIGTERM)
    assert exit_code(child) == TERMINATED
    assert time.monotonic() - asked < 10
    assert "Stopped; go on by the same call with resume=True" in capfd.readouterr().err
    train(tmp_path / "run", resume=True, callbacks=[Act()])
    assert results(tmp_path / "run") == undisturbed


def test_a_second_one_is_refused(undisturbed, tmp_path, capfd):
    mark, run = tmp_path / "mark", tmp_path / "run"

    def wait():
        mark.touch()
        time.sleep(600)

    child = forked(lambda: train(run, callbacks=[Act("on_validation_end", wait)]))
    wait_for(mark)
    refused = f"the only training in {run} but process {child} is at work there"
    try:
        with pytest.raises(UserError, match=refused):
            train(run, resume=True, callbacks=[Act()])
        assert cli(["fit", f"--config={run / 'config.yaml'}", f"--resume={run}"]) == 2
        assert refused in " ".join(capfd.readouterr().err.split())
    finally:
        os.kill(child, signal.SIGKILL)
        exit_code(child)
    train(run, resume=True, callbacks=[Act()])
    assert results(run) == undisturbed


def test_a_report_that_was_not_finished_is_written(tmp_path):
    run, page = tmp_path / "run", tmp_path / "run" / "report.html"

    def call():
        training_run.write_page = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        train(run, report=True)

    assert exit_code(forked(call)) == -signal.SIGKILL
    assert (run / "summary.json").is_file()
    assert not page.exists()
    train(run, resume=True)
    assert not page.exists(), "it is not wanted"
    train(run, resume=True, report=True)
    assert page.read_text().rstrip().endswith("</html>")
    written = page.stat().st_mtime_ns
    train(run, resume=True, report=True)
    assert page.stat().st_mtime_ns == written, "it is there"


def test_a_removed_folder_is_named(tmp_path):
    run = tmp_path / "run"
    remove = Act("on_train_epoch_end", lambda: shutil.rmtree(run))
    with pytest.raises(UserError, match=r"expected the run folder .*run but it is gone; put it"):
        train(run, callbacks=[remove])
    assert not run.exists()


@pytest.fixture
def small(tmp_path):
    """A file system of 400 kB, to be filled or made read-only."""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(mounted(tmp_path / "small", "400k"))
        except OSError:
            pytest.skip("this user cannot mount a file system")
        yield folder


def test_a_read_only_folder_is_named(small):
    assert killed(small / "run", kill_after(1))
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    with pytest.raises(UserError, match=r"write into .*run.* but cannot \(Read-only file sys"):
        train(small / "run", resume=True)


def test_a_full_folder_is_named_and_loses_nothing(undisturbed, small):
    assert killed(small / "run", kill_after(1))
    filler = small / "filler"
    fill(filler)
    with pytest.raises(UserError, match=r"room for the run in .*run but the disk is full"):
        train(small / "run", resume=True)
    filler.unlink()
    train(small / "run", resume=True)
    assert results(small / "run") == undisturbed


def fill(path):
    with path.open("wb") as file, suppress(OSError):
        while True:
            os.write(file.fileno(), b" " * 4096)


def test_a_full_temporary_folder_does_not_matter_or_is_named(undisturbed, small, tmp_path):
    fill(small / "filler")

    def call():
        tempfile.tempdir = str(small)
        train(tmp_path / "run")

    assert exit_code(forked(call)) == 0
    assert results(tmp_path / "run") == undisturbed


def test_the_place_with_less_room_is_named(small, tmp_path, monkeypatch):
    fill(small / "filler")
    full = OSError(28, "No space left on device")
    monkeypatch.setattr(tempfile, "tempdir", str(small))
    assert f"room for the run in {small} but" in training_run.why_not_written(full, tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert f"room for the run in {small} but" in training_run.why_not_written(full, small)


def test_no_temporary_folder_is_named(tmp_path):
    """As Python says it where it can write into none of those that it knows."""
    error = FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")
    told = training_run.why_not_written(error, tmp_path)
    assert told.startswith("expected room for the run in the temporary folder but the disk is full")
