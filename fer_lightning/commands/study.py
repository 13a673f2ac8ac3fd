"""``fer-lightning study``: trains a whole experiment and goes on where it stopped."""

import argparse
import os
import sys
from pathlib import Path

from rich.console import Console

from fer_lightning.commands.report import track
from fer_lightning.commands.resolve import resolve
from fer_lightning.commands.study_data import fingerprint_of, identify
from fer_lightning.commands.study_look import dry_run
from fer_lightning.errors import UserError
from fer_lightning.processes.locks import only_one
from fer_lightning.processes.signals import Stopped
from fer_lightning.processes.training import Outcome
from fer_lightning.shipped import find
from fer_lightning.study.cell_folder import CellFolder
from fer_lightning.study.cells import Cell, make_cells
from fer_lightning.study.collect import collect
from fer_lightning.study.execute import Job, execute, place_jobs
from fer_lightning.study.folders import STUDY, runs_below
from fer_lightning.study.hypotheses import read_asked
from fer_lightning.study.live import LiveTable
from fer_lightning.study.only import parse_only, select
from fer_lightning.study.plan import Study, read_study
from fer_lightning.study.report.write import write_report
from fer_lightning.study.results import export_slim, find_done, write_study
from fer_lightning.study.run import read_run
from fer_lightning.study.stand_ins import stand_ins
from fer_lightning.study.sweep import write_sweep
from fer_lightning.study.table import save_table

FAILED, INTERRUPTED = 1, 130  # exit codes


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
        _say(console, f"Written: {', '.join(map(str, files))}")
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
            if args.ray or args.ray_address:
                from fer_lightning.study.ray_engine import execute_on_ray

                outcomes = execute_on_ray(
                    jobs, command, table.watch, args.retry_failed, args.ray_address
                )
            else:
                outcomes = execute(jobs, command, table.watch, args.retry_failed)
    except Stopped:
        _say(console, f"Stopped; the same command goes on where {out} ends.")
        return INTERRUPTED
    return _finish(jobs, out, outcomes, args.wandb, console)


def _finish(
    jobs: list[Job], out: Path, outcomes: dict[str, Outcome], project: str | None, console: Console
) -> int:
    """Write table and report, and say what is missing and why."""
    found = collect([out])
    if found.runs:
        files = save_table(found.table, out / "runs")
        _say(console, f"Table of runs ({len(found.runs)}): {', '.join(map(str, files))}")
        written = write_report(found, out)
        _say(console, f"Report: {written[0]}")
        for line, where in stand_ins([run.summary for run in found.runs]).items():
            _say(console, f"Note: {line}{where}")
        if project is not None:
            _say(console, track(project, str(found.study["name"]), written))
    bad = [job for job in jobs if not job.done]
    for job in bad:
        stopped = outcomes.get(job.cell.name) == "stopped"
        again = "the same command goes on" if stopped else "try again with --retry-failed"
        _say(console, f"{job.cell.name} {'was killed' if stopped else 'failed'}; {again}:")
        _say(console, f"  {job.folder.last_words()}")
        _say(console, f"  its log is {job.folder.log}")
    return FAILED if bad else 0


def _write_study(study: Study, jobs: list[Job], out: Path) -> None:
    """Tell `collect` and the report what belongs to the study."""
    cells = [
        {
            "name": job.cell.name,
            "model": job.cell.model,
            "fraction": job.cell.fraction,
            "seed": job.cell.seed,
            "identity": job.cell.identity,
            "folder": _relative(job.folder.path, out),
        }
        for job in jobs
    ]
    facts = {
        "file": study.path.name,
        "models": [model.name for model in study.models],
        "fractions": list(study.fractions),
        "seeds": list(study.seeds),
        "hypotheses": [dict(one) for one in study.hypotheses],
    }
    write_study(out / STUDY, study.name, facts, cells)


def _relative(folder: Path, out: Path) -> str:
    return os.path.relpath(folder.resolve(), out.resolve())


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
        _say(console, f"{target / name}: {size:,} bytes")
    _say(console, f"{len(done)} of {len(jobs)} cells are done")
    return 0


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True, markup=False)
