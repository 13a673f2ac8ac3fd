"""A study whose trainings are fakes, in a process of its own, so that it can be killed.

python fake_executor.py OUT [OPTION=VALUE of the model bad ...]
"""

import sys
from pathlib import Path

from rich.console import Console

from fer_lightning.errors import UserError
from fer_lightning.execution.study.cells import make_cells
from fer_lightning.execution.study.execute import execute, place_jobs
from fer_lightning.execution.study.plan import ModelPlan, Study
from fer_lightning.execution.study.progress import LiveTable
from fer_lightning.execution.training import Stopped, only_one
from fer_lightning.execution.workers import LocalWorkers
from fer_lightning.runs.files import write_json

TRAINER = Path(__file__).with_name("fake_trainer.py")


def resolve(options):
    pairs = dict(option.removeprefix("--").split("=", 1) for option in options)
    return {"trainer": {"max_epochs": 4}, "model": pairs, "data": {"fraction": 1.0}}


def jobs_of(out, **bad):
    models = (ModelPlan("cnn", (), {"sleep": "0.05"}), ModelPlan("bad", (), bad))
    study = Study(Path("s.yaml"), "s", models, (0.3, 1.0), (42, 43))
    cells = make_cells(study, resolve, lambda config: "f")
    return place_jobs(cells, out, {})


def run(out, retry_failed=False, **bad):
    """Run the study; return how the cells ended."""
    jobs = jobs_of(out, **bad)
    cells = [
        {
            "name": job.cell.name,
            "model": job.cell.model,
            "identity": job.cell.identity,
            "folder": job.folder.path.name,
        }
        for job in jobs
    ]
    with only_one(out / "lock", "study"):
        write_json(out / "study.json", {"name": "s", "models": ["cnn", "bad"], "cells": cells})

        def command(folder):
            return [sys.executable, str(TRAINER), str(folder.path)]

        with LiveTable(jobs, Console(width=200)) as table:
            return execute(jobs, LocalWorkers(command), table.watch, retry_failed)


if __name__ == "__main__":
    try:
        print(run(Path(sys.argv[1]), **dict(pair.split("=") for pair in sys.argv[2:])))
    except Stopped:
        print("stopped")
        sys.exit(130)
    except UserError as error:
        print(error)
        sys.exit(2)
