"""One process at a time works in a run folder, and a study's training counts as the study's."""

import sys

import pytest

from fer_lightning.errors import UserError
from fer_lightning.execution.training import NO_LOCKS, Training, alone_in, only_one

ALONE = """
import sys
from pathlib import Path
from fer_lightning.execution.training import alone_in
with alone_in(Path(sys.argv[1]), print):
    Path(sys.argv[1], "done").touch()
"""


def test_a_training_of_a_study_may_work_in_its_own_folder(tmp_path):
    folder = tmp_path / "cell"
    command = [sys.executable, "-c", ALONE, str(folder)]
    done = (folder / "done").is_file
    training = Training(folder, tmp_path / "log", command, done, lambda: None)
    while (outcome := training.poll()) is None:
        with pytest.raises(UserError, match="the only training in"), alone_in(folder, print):
            pass
        training.wait(0.2)
    assert outcome == "done", (tmp_path / "log").read_text()


def test_others_are_refused_and_later_let_in(tmp_path):
    refused = pytest.raises(UserError, match="the only training in")
    with alone_in(tmp_path, print), refused, alone_in(tmp_path, print):
        pass
    with alone_in(tmp_path, print):
        pass


def test_a_file_system_without_locks_is_told(tmp_path, monkeypatch):
    def none(*args):
        raise OSError(NO_LOCKS[0], "No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    said = []
    with alone_in(tmp_path, said.append):
        assert "cannot be locked (No locks available)" in said[0]
    with pytest.raises(OSError, match="No locks"), only_one(tmp_path / "lock", "study"):
        pass
