"""What a study costs beyond its trainings: each cell's own work, against a smoke-size cell.

    python benchmarks/study_overhead.py

A cell is trained twice: by the study, and by the same process started alone. What the study adds is
the difference (noise of process starts included); beside it stands the study's own work measured
alone, with trainings that copy their results and end, one process start (of ``cp``) included. The
goal is at most 5 % of a smoke-size cell.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from rich.console import Console

from fer_lightning.commands.resolve import resolve
from fer_lightning.commands.study import fingerprint_of
from fer_lightning.execution.study.cells import CellFolder, make_cells
from fer_lightning.execution.study.execute import Job, execute, place_jobs
from fer_lightning.execution.study.plan import read_study
from fer_lightning.execution.study.progress import LiveTable
from fer_lightning.execution.workers import LocalWorkers
from fer_lightning.runs.files import DEFAULT_METHODS
from fer_lightning.runs.folder import write_json

STUDY = """
models: {vit: {config: %s/vit.yaml}}
overrides:
  data.source: drawn
  data.drawn.size: 280
  trainer.max_epochs: 2
  wandb.mode: disabled
fractions: [1.0]
seeds: %s
focus: {samples: 28}
"""
CONFIGS = Path(__file__).parents[1] / "configs"
GOAL = 0.05  # of a smoke-size cell


def cell_command(folder: CellFolder) -> list[str]:
    module = "fer_lightning.commands.study_cell"
    return [sys.executable, "-m", module, str(folder.path), "28"]


def seconds(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def jobs_in(folder: Path, cells: int):
    path = folder / "study.yaml"
    path.write_text(STUDY % (CONFIGS, list(range(cells))))
    study = read_study(path)
    cells = make_cells(study, resolve, fingerprint_of)
    return place_jobs(cells, folder / "out", {}, study.focus)


def by_hand(job: Job) -> float:
    """Seconds of a cell's process, started alone."""
    job.folder.prepare(job.cell)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return seconds(lambda: subprocess.run(cell_command(job.folder), check=True, **quiet))


def in_study(job: Job) -> float:
    """Seconds of a study of one cell."""
    return seconds(lambda: execute([job], LocalWorkers(cell_command)))


def own_work(folder: Path, cells: int) -> float:
    """Seconds per cell of everything but the training, which is replaced by a copy of files."""
    jobs = jobs_in(folder, cells)
    measured = {"acc": 0.5}
    trained = folder / "trained"
    (trained / "controls").mkdir(parents=True)
    (trained / "controls/randomisation.csv").write_text("\n".join(["method", *DEFAULT_METHODS]))
    summary = {"epochs": 2, "seconds": 1.0, "test": measured, "val": measured}
    write_json(trained / "summary.json", summary)

    def command(cell: CellFolder) -> list[str]:
        return ["cp", "-R", f"{trained}/.", str(cell.path)]

    def run() -> None:
        with LiveTable(jobs, Console(file=sys.stderr)) as table:
            execute(jobs, LocalWorkers(command), table.watch)

    return seconds(run) / cells


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=6)
    repeats = options.parse_args().repeats
    with tempfile.TemporaryDirectory() as place:
        alone, studied = [], []
        for repeat in range(repeats):
            folder = Path(place, str(repeat))
            folder.mkdir()
            first, second = jobs_in(folder, 2)
            if repeat % 2:  # each way comes first, and has the first seed, as often as the other
                studied.append(in_study(first))
                alone.append(by_hand(second))
            else:
                alone.append(by_hand(first))
                studied.append(in_study(second))
        own = own_work(Path(place), 20)
    cell = median(alone)
    print(f"smoke-size cell alone            {cell:8.2f} s (median of {repeats})")
    print(f"the same as a study's cell       {median(studied):8.2f} s")
    print(f"difference                       {(median(studied) - cell) / cell:8.1%} of the cell")
    print(f"the study's own work             {1000 * own:8.1f} ms per cell, {own / cell:.2%}")
    print(f"goal: at most {GOAL:.0%}: {'met' if own <= GOAL * cell else 'MISSED'}")


if __name__ == "__main__":
    main()
