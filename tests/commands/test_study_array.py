"""The script of an array job, and what a task of it reads; SLURM itself is in test_slurm.py."""

import io
import os
import re
import shlex
import subprocess
import sys
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import fake_executor
import pytest
from rich.console import Console

from fer_lightning.commands import study_array
from fer_lightning.commands.study_array import main, read_job, write_array
from fer_lightning.errors import UserError
from fer_lightning.execution.workers import LocalWorkers


@pytest.fixture
def jobs(tmp_path):
    return fake_executor.jobs_of(tmp_path / "a study")


def chosen(script, task):
    """Return the words with which a task of the script starts Python."""
    environment = os.environ | {"SLURM_ARRAY_TASK_ID": str(task)}
    done = subprocess.run(["bash", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_cell_is_in_one_task(tmp_path, jobs, monkeypatch):
    printing = tmp_path / "python that prints"
    printing.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    printing.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(printing))
    monkeypatch.setattr(study_array, "MOST_TASKS", 3)
    script = tmp_path / "scripts/cells.sh"
    write_array(script, "s", jobs, tmp_path / "a study")
    assert "#SBATCH --array=0-2\n" in script.read_text()
    trained = []
    for task in range(3):
        module, out, look, *names = chosen(script, task)[1:]
        assert (module, out) == (study_array.MODULE, str(tmp_path / "a study"))
        assert [look, *names[:2]] == ["--look", "0", "--cells"]
        trained.append(names[2:])
    assert [len(names) for names in trained] == [3, 3, 2]
    assert sorted(chain(*trained)) == sorted(job.folder.path.name for job in jobs)


def test_sbatch_reads_names_with_spaces_and_percent_signs(tmp_path):
    out = tmp_path / "50% of it"
    write_array(tmp_path / "cells.sh", "my study", fake_executor.jobs_of(out), out)
    told = dict(
        shlex.split(line)[1].removeprefix("--").partition("=")[::2]
        for line in (tmp_path / "cells.sh").read_text().splitlines()
        if line.startswith("#SBATCH") and "=" in line
    )
    assert told["job-name"] == "my study"
    assert told["output"] == f"{tmp_path}/50%% of it/slurm-%a.log"  # %% is one percent sign there


def test_a_task_reads_the_cell_that_was_planned(tmp_path, jobs):
    write_array(tmp_path / "cells.sh", "s", jobs, tmp_path / "a study")
    for job in jobs:
        read = read_job(job.folder.path, None)
        assert read.cell == job.cell
        assert not read.done


def test_a_folder_without_a_cell(tmp_path):
    with pytest.raises(UserError, match=r"expected a cell in .* write the script again"):
        read_job(tmp_path, None)


def test_a_task_says_which_cell_failed(tmp_path, jobs, monkeypatch, capsys):
    words = [sys.executable, "-c", "import sys; sys.exit('no such pictures')"]
    failing = LocalWorkers(lambda folder: words)
    monkeypatch.setattr(study_array, "LocalWorkers", lambda command: failing)
    write_array(tmp_path / "cells.sh", "s", jobs[:1], tmp_path / "a study")
    name = jobs[0].folder.path.name
    assert main([str(tmp_path / "a study"), "--look", "0", "--cells", name]) == 1
    assert "failed; try again with --retry-failed:\n  no such pictures" in capsys.readouterr().out
    assert Path(jobs[0].folder.failed).is_file()


def test_what_cells_start_from_comes_first(tmp_path, monkeypatch):
    """Sources in the first script, the cells in the next, those that failed only if asked."""
    from fer_lightning.commands.study import _write_array

    monkeypatch.chdir(tmp_path)
    sources, jobs = (
        fake_executor.jobs_of(Path("out/sources"))[:2],
        fake_executor.jobs_of(Path("out")),
    )
    study = SimpleNamespace(name="s")

    def write(retry_failed=False):
        args = SimpleNamespace(slurm=Path("cells.sh"), retry_failed=retry_failed)
        said = io.StringIO()
        assert _write_array(sources, jobs, Path("out"), study, args, Console(file=said)) == 0
        text = Path("cells.sh").read_text() if Path("cells.sh").is_file() else ""
        Path("cells.sh").unlink(missing_ok=True)
        return re.findall(r"^(?:\w+/)?\w+-\d+pct-seed\d+-\w+$", text, re.M), said.getvalue()

    first, said = write()
    assert first == [f"sources/{job.folder.path.name}" for job in sources]
    assert "the same command again writes the cells" in " ".join(said.split())
    for job in sources:
        job.done = True
    jobs[0].done = True
    jobs[1].folder.path.mkdir(parents=True)
    jobs[1].folder.fail(1)
    assert write()[0] == [job.folder.path.name for job in jobs[2:]]
    assert write(retry_failed=True)[0] == [job.folder.path.name for job in jobs[1:]]
    for job in jobs:
        job.done = True
    names, said = write()
    assert not names
    assert "There is no cell to train" in said
