"""Cells of a study as an array job of SLURM: the script for ``sbatch``, and what a task of it does.

A task is ``python -m fer_lightning.commands.study_array OUT --look WORDS --cells FOLDERS``. The
folders were prepared when the script was written, so that nothing has to be planned again, and a
study file that is edited in the meantime changes no cell that waits in the queue.
"""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from fer_lightning.commands.options import Options
from fer_lightning.commands.study_cell import plan_of, words_of
from fer_lightning.errors import UserError
from fer_lightning.execution.study.cells import Cell, CellFolder
from fer_lightning.execution.study.execute import Job, execute
from fer_lightning.execution.study.plan import FocusPlan
from fer_lightning.execution.study.progress import LiveTable
from fer_lightning.execution.training import INTERRUPTED, Stopped
from fer_lightning.execution.workers import LocalWorkers
from fer_lightning.runs.files import FILES, atomic, read_config
from fer_lightning.runs.folder import RunFolder
from fer_lightning.screen import Screen, say

MODULE = "fer_lightning.commands.study_array"
MOST_TASKS = 1000  # SLURM's own bound is 1001 unless an administrator has changed it
BEFORE_THE_LIMIT = 120  # seconds; a training ends within 8
FAILED = 1  # exit code
SCRIPT = """\
#!/bin/bash
# {count} cells of the study {name}. Train them, with what your cluster wants to know:
#   sbatch --partition gpu --gres gpu:1 --time 4:00:00 {script}
# Then collect them and write the report, with the options that wrote this script except --slurm:
#   fer-lightning study ...
#SBATCH --job-name={job_name}
#SBATCH --array=0-{last}
#SBATCH --ntasks=1
#SBATCH --output={log}
#SBATCH --open-mode=append
# A task that is preempted, or near its time limit, goes on from its last epoch:
#SBATCH --requeue
#SBATCH --signal=B:USR1@{before}
cells=(
{cells}
)
mine=()
for ((i = SLURM_ARRAY_TASK_ID; i < ${{#cells[@]}}; i += {tasks})); do mine+=("${{cells[i]}}"); done
cd {here} || exit
exec {command} --cells "${{mine[@]}}"
"""


def write_array(path: Path, name: str, jobs: Sequence[Job], out: Path) -> None:
    """Prepare the folders of cells and write the script that trains them.

    Args:
        path: of the script.
        name: of the study.
        jobs: the cells, all below `out`.
        out: the study's folder.
    """
    for job in jobs:
        job.folder.prepare(job.cell)
    place, tasks = out.resolve(), min(len(jobs), MOST_TASKS)
    folders = [os.path.relpath(job.folder.path.resolve(), place) for job in jobs]
    words = [sys.executable, "-m", MODULE, str(place), "--look", *words_of(jobs[0].folder.focus)]
    text = SCRIPT.format(
        count=len(jobs),
        name=name,
        script=path,
        job_name=shlex.quote(name),
        last=tasks - 1,
        log=shlex.quote(str(place).replace("%", "%%") + "/slurm-%a.log"),
        before=BEFORE_THE_LIMIT,
        cells="\n".join(map(shlex.quote, folders)),
        tasks=tasks,
        here=shlex.quote(str(Path.cwd())),
        command=shlex.join(words),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as file:
        file.write(text)


def this_task(environment: Mapping[str, str]) -> str:
    """Name this task; one of an array has the array's own SLURM_JOB_ID, which means all tasks.

    >>> this_task({"SLURM_JOB_ID": "7", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3"})
    '7_3'
    """
    return f"{environment['SLURM_ARRAY_JOB_ID']}_{environment['SLURM_ARRAY_TASK_ID']}"


def read_job(path: Path, focus: FocusPlan | None) -> Job:
    """Read a cell from its folder.

    Raises:
        UserError: it was not prepared, or is damaged.
    """
    facts = FILES["cell"].read(path)
    if facts is None:
        raise UserError(
            f"expected a cell in {path} but there is none; write the script again with "
            "fer-lightning study FILE --slurm SCRIPT"
        )
    cell = Cell(
        **{name: facts.get(name) for name in ("model", "fraction", "seed", "identity")},
        config=read_config(RunFolder(path).config),
        varied=facts.get("varied", {}),
    )
    folder = CellFolder(path, focus)
    return Job(cell, folder, folder.done)


def main(argv: list[str]) -> int:
    """Train some cells, one after the other, whatever becomes of each."""
    options = Options(prog=f"python -m {MODULE}", description=__doc__)
    options.add_argument("out", type=Path, help="the study's folder")
    options.add_argument("--look", nargs="+", required=True, help="as for study_cell")
    options.add_argument("--cells", nargs="+", required=True, help="folders below the study's")
    args = options.parse_args(argv)
    jobs = [read_job(args.out / name, plan_of(args.look)) for name in args.cells]

    def command(folder: CellFolder) -> list[str]:
        module = "fer_lightning.commands.study_cell"
        return [sys.executable, "-m", module, str(folder.path), *args.look]

    near_the_limit: list[int] = []

    def end_in_time(number: int, frame: FrameType | None) -> None:
        near_the_limit.append(number)
        signal.raise_signal(signal.SIGTERM)

    signal.signal(signal.SIGUSR1, end_in_time)
    console = Screen()
    try:
        with LiveTable(jobs, console) as table:
            execute(jobs, LocalWorkers(command), table.watch, retry_failed=True)
    except Stopped:
        say(console, "Stopped; it goes on when SLURM starts this task again.")
        if near_the_limit:
            subprocess.run(["scontrol", "requeue", this_task(os.environ)], check=False)
        return INTERRUPTED
    for job in jobs:
        if not job.done:
            say(console, job.folder.why_not_done(job.cell.name, job.folder.state == "failed"))
    return 0 if all(job.done for job in jobs) else FAILED


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except UserError as error:
        sys.exit(f"error: {error}")
