"""``fer-lightning study``: trains a whole experiment and goes on where it stopped."""

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table

from fer_lightning.commands.report import track
from fer_lightning.commands.resolve import data_of, resolve
from fer_lightning.data.augment import Augmentation, augment, to_float
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.execution.study.cells import Cell, CellFolder, make_cells
from fer_lightning.execution.study.execute import Job, execute, place_jobs
from fer_lightning.execution.study.plan import Study, parse_only, read_study, select
from fer_lightning.execution.study.progress import LiveTable
from fer_lightning.execution.study.results import export_slim, find_done, write_sweep
from fer_lightning.execution.training import Outcome, Stopped, only_one, say
from fer_lightning.execution.workers import LocalWorkers, RayWorkers
from fer_lightning.hypotheses import read_asked
from fer_lightning.models import MODELS, create_model
from fer_lightning.models.registry import import_path
from fer_lightning.report.write import write_report
from fer_lightning.runs.collection import collect, save_table
from fer_lightning.runs.files import write_json
from fer_lightning.runs.find import STUDY, runs_below
from fer_lightning.runs.folder import RunFolder
from fer_lightning.runs.identity import decisive, identity, short_path
from fer_lightning.runs.provenance import stand_ins
from fer_lightning.runs.run import Run, read_run
from fer_lightning.shipped import find
from fer_lightning.training.optimizers import make_optimizer

WHICH = ("data_dir", "source", "files", "drawn", "cache_dir")  # options that choose the images
DATA: dict[str, FERDataModule] = {}  # the first that was made for some images
STEPS = 3  # measured, after one that warms up
FORWARD_SHARE = 1 / 3  # of a training step's time that a forward pass takes
LINKED = ("num_classes", "in_chans", "image_size")
STARTING = 30.0  # seconds of a cell for imports, test and controls, roughly
FAILED, INTERRUPTED = 1, 130  # exit codes


def data_for(config: dict[str, Any]) -> FERDataModule:
    """Return the data of a configuration; those that mean the same images share them."""
    data = data_of(config)
    chosen = json.dumps({name: config["data"].get(name) for name in WHICH}, sort_keys=True)
    data.image_set = DATA.setdefault(chosen, data).image_set
    return data


def fingerprint_of(config: dict[str, Any]) -> str:
    """Return the fingerprint of a configuration's images."""
    return data_for(config).image_set.fingerprint


def identify(run: Run) -> str:
    """Compute the identity of a finished run, which may be of an older version.

    Its configuration goes through today's parser, so that options which did not exist then have
    their default, as they had in effect.
    """
    if run.summary.get("processes") != 1:
        return ""  # several processes make larger batches
    config = resolve([f"--config={RunFolder(run.path).config}"])
    return identity(decisive(config, run.fingerprint))


def seconds_per_image(config: Mapping[str, Any], data: FERDataModule) -> float:
    """Time a few training steps at the configured batch size, in seconds per image.

    Raises:
        UserError: no such model is registered or imported.
    """
    net = config["model"]["net"]
    path = short_path(net["class_path"])
    names = {short_path(import_path(entry.model)): name for name, entry in MODELS.items()}
    linked = {option: getattr(data, option) for option in LINKED}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = names.get(path, path)
    model = create_model(name, **{**net.get("init_args", {}), **linked}).to(device).train()
    options = config["model"]
    optimizer = make_optimizer(model, options["optimizer"], options["lr"], options["weight_decay"])
    size = min(config["data"]["batch_size"], len(data.split.train))
    rows = data.split.train[:size]
    images = torch.from_numpy(data.image_set.images[rows]).to(device)
    labels = torch.from_numpy(data.image_set.labels[rows]).to(device)
    began = 0.0
    for step in range(STEPS + 1):
        if step == 1:
            _synchronise()
            began = time.perf_counter()
        batch = augment(to_float(images), Augmentation(**config["data"]["augmentation"]))
        optimizer.zero_grad()
        F.cross_entropy(model(batch), labels).backward()
        optimizer.step()
    _synchronise()
    return (time.perf_counter() - began) / STEPS / size


def estimate(config: Mapping[str, Any], images: Mapping[str, int], per_image: float) -> float:
    """Seconds of a whole run, at most: it may stop early.

    >>> round(estimate({"trainer": {"max_epochs": 2}}, {"train": 80, "val": 30}, 0.1), 1)
    18.0
    """
    epoch = images["train"] + FORWARD_SHARE * images["val"]
    return per_image * epoch * config["trainer"]["max_epochs"]


def _synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


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
        time_left = ""
        if not job.done:
            if cell.model not in speeds:
                speeds[cell.model] = _speed(job)
            speed = speeds[cell.model]
            if speed is None:
                unknown = True
            else:
                seconds = estimate(cell.config, images, speed) + STARTING
                total += seconds
                time_left = str(timedelta(seconds=round(seconds)))
        state = "done" if job.done else job.folder.state
        table.add_row(cell.name, state, f"{images['train']:,}", time_left, cell.identity[:8])
    console.print(table)
    done = sum(job.done for job in jobs)
    say(
        console,
        f"{done} of {len(jobs)} cells are done; the others take at most about "
        f"{timedelta(seconds=round(total))} one after the other"
        + (", without those of models that cannot be timed" if unknown else "")
        + ". This is an estimate from a few training steps of each model on this machine as it is "
        "now; runs may stop early.",
    )


def _speed(job: Job) -> float | None:
    try:
        return seconds_per_image(job.cell.config, data_for(dict(job.cell.config)))
    except UserError:
        return None


def parser() -> argparse.ArgumentParser:
    """Return the command's options."""
    options = argparse.ArgumentParser(prog="fer-lightning study", description=__doc__)
    options.add_argument("file", type=Path, help="a file, or a shipped one by name: drawn_faces")
    options.add_argument("--data", help="the images: file, folder or archive")
    options.add_argument("--out", type=Path, help="the study's folder; runs/NAME without it")
    options.add_argument("--only", action="append", default=[], metavar="KEY=VALUE,...")
    options.add_argument("--dry-run", action="store_true", help="print the cells and their time")
    options.add_argument("--retry-failed", action="store_true", help="also cells that failed")
    options.add_argument(
        "--results",
        type=Path,
        action="append",
        default=[],
        help="folder of finished runs that count as done, beside the study file's",
    )
    options.add_argument("--export", type=Path, help="write slim copies of finished cells there")
    options.add_argument(
        "--focus-from",
        action="append",
        default=[],
        metavar="CELL=FOLDER",
        help="with --export: where a cell's focus.csv lies, if not in its run folder",
    )
    options.add_argument("--wandb", metavar="PROJECT", help="show the report as a run on W&B, too")
    options.add_argument("--sweep-file", type=Path, help="write the cells as a W&B sweep there")
    options.add_argument("--ray", action="store_true", help="train in parallel with Ray")
    options.add_argument("--ray-address", help="of a Ray cluster, which then is used")
    return options


def main(argv: list[str]) -> int:
    """Plan the study, find what is done, and do what is asked with the rest."""
    args = parser().parse_args(argv)
    study = read_study(find(args.file, "study"))
    read_asked(study.hypotheses, [model.name for model in study.models])
    console = Console()
    cells = make_cells(study, resolve, fingerprint_of, args.data)
    if args.sweep_file is not None:
        files = write_sweep(args.sweep_file, study, cells)
        say(console, f"Written: {', '.join(map(str, files))}")
        return 0
    out = args.out or Path("runs") / study.name
    found = _done(cells, out, _results(study, args.results))
    jobs = place_jobs(cells, out, found, study.focus_samples is not None)
    wanted = select(jobs, parse_only(args.only))
    if args.export is not None:
        return _export(wanted, args.export, args.focus_from, console)
    if args.dry_run:
        dry_run(wanted, console)
        return 0
    with only_one(out / "lock", "study"):
        _write_study(study, jobs, out)
        return _train(wanted, out, study, args, console)


def _results(study: Study, given: list[Path]) -> list[Path]:
    """Folders of finished runs: the study's own first, if it is there, then those given."""
    for folder in given:
        if not folder.is_dir():
            raise UserError(f"expected a folder of results but there is none at {folder}")
    own = [] if study.results is None or not study.results.is_dir() else [study.results]
    return [*own, *given]


def _done(cells: list[Cell], out: Path, results: list[Path]) -> dict[str, Path]:
    """Find finished cells: in folders of results, and in `out` under an identity of before."""
    names = {cell.folder_name for cell in cells}
    folders = [run for root in results for run in runs_below(root)]
    if out.is_dir():
        folders += [run for run in runs_below(out) if run.name not in names]
    return find_done(cells, folders, identify)


def _train(
    jobs: list[Job], out: Path, study: Study, args: argparse.Namespace, console: Console
) -> int:
    def command(folder: CellFolder) -> list[str]:
        module = "fer_lightning.commands.study_cell"
        return [sys.executable, "-m", module, str(folder.path), str(study.focus_samples or 0)]

    try:
        with LiveTable(jobs, console) as table:
            ray = args.ray or args.ray_address
            workers = RayWorkers(command, args.ray_address) if ray else LocalWorkers(command)
            outcomes = execute(jobs, workers, table.watch, args.retry_failed)
    except Stopped:
        say(console, f"Stopped; the same command goes on where {out} ends.")
        return INTERRUPTED
    return _finish(jobs, out, outcomes, args.wandb, console)


def _finish(
    jobs: list[Job], out: Path, outcomes: dict[str, Outcome], project: str | None, console: Console
) -> int:
    """Write table and report, and say what is missing and why."""
    found = collect([out])
    if found.runs:
        files = save_table(found.table, out / "runs")
        say(console, f"Table of runs ({len(found.runs)}): {', '.join(map(str, files))}")
        written = write_report(found, out)
        say(console, f"Report: {written[0]}")
        for line, where in stand_ins([run.summary for run in found.runs]).items():
            say(console, f"Note: {line}{where}")
        if project is not None:
            say(console, track(project, str(found.study["name"]), written))
    bad = [job for job in jobs if not job.done]
    for job in bad:
        failed = outcomes.get(job.cell.name) != "stopped"
        say(console, job.folder.why_not_done(job.cell.name, failed))
    return FAILED if bad else 0


def _write_study(study: Study, jobs: list[Job], out: Path) -> None:
    """Tell `collect` and the report what belongs to the study."""
    cells = [
        {
            "name": job.cell.name,
            **{name: getattr(job.cell, name) for name in ("model", "fraction", "seed", "identity")},
            "folder": os.path.relpath(job.folder.path.resolve(), out.resolve()),
        }
        for job in jobs
    ]
    content = {
        "name": study.name,
        "file": study.path.name,
        "models": [model.name for model in study.models],
        "fractions": list(study.fractions),
        "seeds": list(study.seeds),
        "hypotheses": [dict(one) for one in study.hypotheses],
        "cells": cells,
    }
    write_json(out / STUDY, content)


def _export(jobs: list[Job], target: Path, focus_from: list[str], console: Console) -> int:
    names = {job.cell.name for job in jobs}
    focus = {}
    for pair in focus_from:
        name, _, folder = pair.partition("=")
        if name not in names or not Path(folder).is_dir():
            raise UserError(
                f"expected CELL=FOLDER for --focus-from but got '{pair}'; give a cell such as "
                f"{next(iter(names), 'none')} and an existing folder"
            )
        focus[name] = Path(folder)
    done = [job for job in jobs if job.done]
    for job in done:
        name = job.cell.name
        if job.folder.path.resolve() == (target / name).resolve():
            continue
        size = export_slim(read_run(job.folder.path), job.cell, target / name, focus.get(name))
        say(console, f"{target / name}: {size:,} bytes")
    say(console, f"{len(done)} of {len(jobs)} cells are done")
    return 0
