"""The table of a study's cells before anything is trained."""

from datetime import timedelta

from rich.console import Console
from rich.table import Table

from fer_lightning.commands.calibrate import estimate, seconds_per_image
from fer_lightning.commands.study_data import data_for
from fer_lightning.errors import UserError
from fer_lightning.study.execute import Job

STARTING = 30.0  # seconds of a cell for imports, test and controls, roughly


def dry_run(jobs: list[Job], console: Console) -> None:
    """Print the cells, what is done, and an estimate of the time that the rest takes."""
    table = Table(title="cells")
    for name in ("cell", "state", "images", "at most", "identity"):
        table.add_column(name, justify="right" if name in ("images", "at most") else "left")
    speeds: dict[str, float | None] = {}
    total, unknown = 0.0, False
    for job in jobs:
        cell = job.cell
        data = data_for(dict(cell.config))
        images = {part: len(getattr(data.split, part)) for part in ("train", "val")}
        told = ""
        if not job.done:
            if cell.model not in speeds:
                speeds[cell.model] = _speed(job)
            speed = speeds[cell.model]
            if speed is None:
                unknown = True
            else:
                seconds = estimate(cell.config, images, speed) + STARTING
                total += seconds
                told = str(timedelta(seconds=round(seconds)))
        state = "done" if job.done else job.folder.state
        table.add_row(cell.name, state, f"{images['train']:,}", told, cell.identity[:8])
    console.print(table)
    done = sum(job.done for job in jobs)
    console.print(
        f"{done} of {len(jobs)} cells are done; the others take at most about "
        f"{timedelta(seconds=round(total))} one after the other"
        + (", without those of models that cannot be timed" if unknown else "")
        + ". This is an estimate from a few training steps of each model on this machine as it is "
        "now; runs may stop early.",
        highlight=False,
        soft_wrap=True,
    )


def _speed(job: Job) -> float | None:
    try:
        return seconds_per_image(job.cell.config, data_for(dict(job.cell.config)))
    except UserError:
        return None
