"""``fer-lightning study``: trains a whole experiment and goes on where it stopped."""

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table

from fer_lightning.commands.options import Options
from fer_lightning.commands.report import track
from fer_lightning.commands.resolve import data_of, resolve
from fer_lightning.commands.study_array import write_array
from fer_lightning.commands.study_cell import words_of
from fer_lightning.data.augment import Augmentation, augment, to_float
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.execution.study.cells import (
    Cell,
    CellFolder,
    Start,
    make_cells,
    make_sources,
)
from fer_lightning.execution.study.execute import Job, execute, place_jobs
from fer_lightning.execution.study.plan import Study, parse_only, read_study, select
from fer_lightning.execution.study.progress import LiveTable
from fer_lightning.execution.study.rehearsal import rehearsal
from fer_lightning.execution.study.results import (
    check_plan,
    export_slim,
    find_done,
    write_plan,
    write_sweep,
)
from fer_lightning.execution.training import Outcome, Stopped, only_one
from fer_lightning.execution.workers import LocalWorkers, RayWorkers
from fer_lightning.hypotheses import read_asked
from fer_lightning.hypotheses.planning import seeds_for, spread_between
from fer_lightning.look.methods import find_methods
from fer_lightning.models import MODELS, create_model
from fer_lightning.models.registry import import_path
from fer_lightning.report.write import write_report
from fer_lightning.runs.collection import collect, save_table
from fer_lightning.runs.find import runs_below
from fer_lightning.runs.folder import RunFolder
from fer_lightning.runs.foreign import check_classes
from fer_lightning.runs.identity import decisive, identity, short_path
from fer_lightning.runs.provenance import REHEARSED, stand_ins
from fer_lightning.runs.run import Run, read_run
from fer_lightning.screen import Screen, say
from fer_lightning.shipped import find
from fer_lightning.training.optimizers import make_optimizer

WHICH = (  # options that choose the images
    *("data_dir", "source", "files", "drawn", "defects", "cache_dir"),
    *("cue", "landmarks", "masks", "regions"),
)
DATA: dict[str, FERDataModule] = {}  # the first that was made for some images
STEPS = 3  # measured, after one that warms up
FORWARD_SHARE = 1 / 3  # of a training step's time that a forward pass takes
LINKED = ("num_classes", "in_chans", "image_size")
STARTING = 30.0  # seconds of a cell for imports, test and controls, roughly
FAILED, INTERRUPTED = 1, 130  # exit codes
SOURCES = "sources"  # folder in a study's with what its models start from


def data_for(config: dict[str, Any]) -> FERDataModule:
    """Return the data of a configuration; those that mean the same images share them."""
    data = data_of(config)
    chosen = json.dumps({name: config["data"].get(name) for name in WHICH}, sort_keys=True)
    data.image_set = DATA.setdefault(chosen, data).image_set
    return data


def resolve_with_data(options: list[str]) -> dict[str, Any]:
    """Return the whole configuration, with what becomes of copies in its data written out."""
    config = resolve(options)
    if config["data"].get("duplicates") is None:
        config["data"]["duplicates"] = data_for(config).duplicates
    return config


def fingerprint_of(config: dict[str, Any]) -> str:
    """Return the fingerprint of a configuration's images."""
    return data_for(config).image_set.fingerprint


def identify(run: Run, trust: bool = False) -> str:
    """Compute the identity of a finished run, which may be of an older version.

    Its configuration goes through today's parser, so that options which did not exist then have
    their default, as they had in effect.

    Args:
        run: a finished one.
        trust: also where its configuration names classes of other packages, which are imported.

    Raises:
        UserError: the configuration is damaged, or names such classes and is not trusted.
    """
    if run.summary.get("processes") != 1:
        return ""  # several processes make larger batches
    if not trust:
        check_classes(RunFolder(run.path).config)
    config = resolve([f"--config={RunFolder(run.path).config}"])
    if config["data"].get("duplicates") is None:
        config["data"]["duplicates"] = "group"  # the default of versions that wrote none
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

    >>> config = {"trainer": {"max_epochs": 2}, "data": {"batch_size": 8}}
    >>> round(estimate(config, {"train": 80, "val": 30}, 0.1), 1)
    18.0
    >>> limited = config | {"trainer": {"max_epochs": -1, "max_steps": 10}}
    >>> round(estimate(limited, {"train": 80, "val": 30}, 0.1), 1)
    9.0
    """
    trainer = config["trainer"]
    validated = images["val"] / (trainer.get("check_val_every_n_epoch") or 1)
    epoch = images["train"] + FORWARD_SHARE * validated
    epochs, steps = trainer.get("max_epochs") or -1, trainer.get("max_steps") or -1
    by_steps = steps / math.ceil(images["train"] / config["data"]["batch_size"])
    limits = [limit for limit in (epochs, by_steps) if limit > 0]
    return per_image * epoch * min(limits, default=math.inf)


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
    options = Options(prog="fer-lightning study", description=__doc__)
    options.add_argument("file", type=Path, help="a file, or a shipped one by name: drawn_faces")
    options.add_argument("--data", help="the images: file, folder or archive")
    options.add_argument("--out", type=Path, help="the study's folder; runs/NAME without it")
    options.add_argument("--only", action="append", default=[], metavar="KEY=VALUE,...")
    options.add_argument("--dry-run", action="store_true", help="print the cells and their time")
    options.add_argument(
        "--rehearse",
        action="store_true",
        help="the whole study in minutes, on drawn faces, one epoch each: does it run to its end?",
    )
    options.add_argument("--retry-failed", action="store_true", help="also cells that failed")
    options.add_argument(
        "--results",
        type=Path,
        action="append",
        default=[],
        help="folder of finished runs that count as done, beside the study file's",
    )
    options.add_argument(
        "--trust",
        action="store_true",
        help="import whatever classes the configurations in --results name: their code runs",
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
    options.add_argument("--slurm", type=Path, help="write the cells as an array job there")
    options.add_argument("--ray", action="store_true", help="train in parallel with Ray")
    options.add_argument("--ray-address", help="of a Ray cluster, which then is used")
    return options


def main(argv: list[str]) -> int:
    """Plan the study, find what is done, and do what is asked with the rest."""
    args = parser().parse_args(argv)
    study = read_study(find(args.file, "study"))
    if study.focus is not None:
        methods = tuple(find_methods(study.focus.methods))
        study = replace(study, focus=replace(study.focus, methods=methods))
    if args.rehearse:
        study = _rehearsed(study, args)
    read_asked(study.hypotheses, [model.name for model in study.models])
    console = Screen()
    out = args.out or Path("runs") / study.name
    sources = place_jobs(make_sources(study, resolve_with_data, fingerprint_of), out / SOURCES, {})
    starts = {
        (job.cell.model, job.cell.seed): Start(
            job.cell.identity, RunFolder(job.folder.path.resolve()).best_checkpoint
        )
        for job in sources
    }
    cells = make_cells(study, resolve_with_data, fingerprint_of, args.data, starts)
    if args.sweep_file is not None:
        _check_no_sources(study)
        files = write_sweep(args.sweep_file, study, cells)
        say(console, f"Written: {', '.join(map(str, files))}")
        return 0
    found = _done(cells, out, _results(study, args.results), args.trust)
    jobs = place_jobs(cells, out, found, study.focus)
    wanted = select(jobs, parse_only(args.only))
    if args.export is not None:
        check_plan(args.export, study)
        code = _export(wanted, args.export, args.focus_from, console)
        write_plan(args.export, study, [(cell, cell.name) for cell in cells])
        return code
    needed = _needed(sources, wanted, study)
    if args.dry_run:
        dry_run([*needed, *wanted], console)
        for line in _seeds(study, jobs):
            say(console, line)
        return 0
    with only_one(out / "lock", "study"):
        # tells `collect` and the report what belongs to the study
        paths = [os.path.relpath(job.folder.path.resolve(), out.resolve()) for job in jobs]
        write_plan(out, study, list(zip(cells, paths, strict=True)))
        if args.slurm is not None:
            return _write_array(needed, wanted, out, study, args, console)
        return _train(needed, wanted, out, study, args, console)


def _rehearsed(study: Study, args: argparse.Namespace) -> Study:
    if args.data is not None or args.results:
        raise UserError(
            "expected --rehearse alone, which draws its faces and counts no earlier results, but "
            f"got {'--data' if args.data is not None else '--results'}; leave that out"
        )
    return rehearsal(study)


def _check_no_sources(study: Study) -> None:
    if study.sources:
        raise UserError(
            f"expected a study without sources for a sweep but {study.path} has "
            f"{study.sources[0].name}, which must be trained first; run the study itself"
        )


def _needed(sources: list[Job], wanted: list[Job], study: Study) -> list[Job]:
    """Return the sources that a cell starts from which is not trained yet."""
    names = {model.name: set(model.start.values()) for model in study.models}
    asked = {
        (name, job.cell.seed)
        for job in wanted
        if not (job.done or RunFolder(job.folder.path).complete)
        for name in names[job.cell.model]
    }
    return [job for job in sources if (job.cell.model, job.cell.seed) in asked]


def _seeds(study: Study, jobs: list[Job]) -> list[str]:
    """Say how many seeds the study's questions need, by what is finished of it."""
    asked = read_asked(study.hypotheses, [model.name for model in study.models])
    if not asked:
        return []
    found: dict[tuple[str, float], list[float]] = {}
    for job in jobs:
        if job.done:
            accuracy = float(read_run(job.folder.path).summary["test"]["acc"])
            found.setdefault((job.cell.model, job.cell.fraction), []).append(accuracy)
    images = len(data_for(dict(jobs[0].cell.config)).split.test)
    spread = spread_between(found)
    return seeds_for(asked, study.fractions, len(study.seeds), images, spread)


def _results(study: Study, given: list[Path]) -> list[Path]:
    """Folders of finished runs: the study's own first, if it is there, then those given."""
    for folder in given:
        if not folder.is_dir():
            raise UserError(f"expected a folder of results but there is none at {folder}")
    own = [] if study.results is None or not study.results.is_dir() else [study.results]
    return [*own, *given]


def _done(cells: list[Cell], out: Path, results: list[Path], trust: bool) -> dict[str, Path]:
    """Find finished cells: in folders of results, and in `out` under an identity of before."""
    names = {cell.folder_name for cell in cells}
    folders = [run for root in results for run in runs_below(root)]
    if out.is_dir():
        folders += [run for run in runs_below(out) if run.name not in names]
    return find_done(cells, folders, partial(identify, trust=trust))


def _write_array(
    sources: list[Job],
    jobs: list[Job],
    out: Path,
    study: Study,
    args: argparse.Namespace,
    console: Console,
) -> int:
    """Write what is not done as an array job; cells whose source is missing come in a later one."""
    several = [job for job in sources if not job.done] or jobs
    todo = [
        job
        for job in several
        if not job.done and (args.retry_failed or job.folder.state != "failed")
    ]
    if not todo:
        say(console, "There is no cell to train; the same command without --slurm collects them.")
        return 0
    write_array(args.slurm, study.name, todo, out)
    then = "the same command again writes the cells that start from them"
    if several is jobs:
        then = "the same command without --slurm collects them"
    say(
        console,
        f"Written: {len(todo)} cells for sbatch {args.slurm} (what your cluster wants to know goes "
        f"before its name: --partition, --gres, --time); when they are done, {then}.",
    )
    return 0


def _train(
    sources: list[Job],
    jobs: list[Job],
    out: Path,
    study: Study,
    args: argparse.Namespace,
    console: Console,
) -> int:
    """Train the sources, then the cells, of which those without their source wait."""

    def command(folder: CellFolder) -> list[str]:
        module = "fer_lightning.commands.study_cell"
        return [sys.executable, "-m", module, str(folder.path), *words_of(folder.focus)]

    outcomes: dict[str, Outcome] = {}
    try:
        for several in (sources, jobs):
            ready = [job for job in several if not _waits(job, study, sources)]
            if not ready:
                continue
            with LiveTable(ready, console) as table:
                ray = args.ray or args.ray_address
                workers = RayWorkers(command, args.ray_address) if ray else LocalWorkers(command)
                outcomes |= execute(ready, workers, table.watch, args.retry_failed)
    except Stopped:
        say(console, f"Stopped; the same command goes on where {out} ends.")
        return INTERRUPTED
    return _finish([*sources, *jobs], out, outcomes, args.wandb, console)


def _waits(job: Job, study: Study, sources: list[Job]) -> bool:
    """Whether a cell cannot be trained because a source of it is missing."""
    missing = {source.cell.model for source in sources if not source.done}
    starts = {model.name: missing & {*model.start.values()} for model in study.models}
    return not job.done and bool(starts.get(job.cell.model))


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
        name, failed = job.cell.name, outcomes.get(job.cell.name) != "stopped"
        if name not in outcomes and job.folder.state == "waiting":
            say(console, f"{name} was not trained: what it starts from is missing.")
        else:
            say(console, job.folder.why_not_done(name, failed))
    if found.study.get("rehearsed"):
        say(console, REHEARSED)
    return FAILED if bad else 0


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
