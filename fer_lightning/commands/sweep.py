"""``fer-lightning sweep``: runs a W&B sweep file with no account, and goes on where it stopped."""

import argparse
import os
import sys
from functools import partial
from pathlib import Path

import torch
from rich.console import Console

from fer_lightning.commands.sweep_look import dry_run
from fer_lightning.commands.sweep_options import check_options, configuration_text
from fer_lightning.errors import UserError
from fer_lightning.processes.locks import only_one
from fer_lightning.processes.signals import INTERRUPTED, Stopped
from fer_lightning.shipped import find
from fer_lightning.study.cell_folder import CellFolder
from fer_lightning.study.stand_ins import stand_ins
from fer_lightning.sweep.engine import Engine
from fer_lightning.sweep.file import Sweep, read_sweep
from fer_lightning.sweep.live import LiveSweep
from fer_lightning.sweep.report.write import write_sweep_report
from fer_lightning.sweep.results import run_facts, write_table
from fer_lightning.sweep.search import check_search, grid_size
from fer_lightning.sweep.state import SweepState, open_state
from fer_lightning.sweep.trial import Reader
from fer_lightning.sweep.workers import LocalWorkers, RayWorkers, Workers

FAILED = 1  # exit code


def parser() -> argparse.ArgumentParser:
    """Return the command's options.

    >>> parser().parse_args(["sweeps/learning_rate.yaml", "--count", "20"]).count
    20
    """
    options = argparse.ArgumentParser(prog="fer-lightning sweep", description=__doc__)
    options.add_argument("file", type=Path, help="a file, or a shipped one by name: learning_rate")
    options.add_argument("--count", type=int, help="how many runs in all; a grid has its own end")
    options.add_argument("--parallel", type=int, help="how many runs at a time (1; Ray: all)")
    options.add_argument("--data", help="the images: file, folder or archive")
    options.add_argument("--out", type=Path, help="the sweep's folder; runs/NAME without it")
    options.add_argument("--seed", type=int, default=0, help="of the search, not of the runs")
    options.add_argument("--dry-run", action="store_true", help="print the first points and stop")
    options.add_argument("--retry-failed", action="store_true", help="also runs that failed")
    options.add_argument("--ray", action="store_true", help="train in parallel with Ray")
    options.add_argument("--ray-address", help="of a Ray cluster, which then is used")
    return options


def main(argv: list[str]) -> int:
    """Check the sweep file, then train what is missing."""
    args = parser().parse_args(argv)
    sweep = read_sweep(find(args.file, "sweep"))
    check_search(sweep)
    count = how_many(sweep, args.count)
    if args.parallel is not None and args.parallel < 1:
        raise UserError(f"expected --parallel of at least 1 but got {args.parallel}")
    if args.data is not None and not Path(args.data).exists():
        raise UserError(f"expected images at {args.data} but there is nothing; check --data")
    out = args.out or Path("runs") / sweep.name
    state = open_state(out, sweep, args.data, args.seed)
    check_options(sweep, args.data)
    console = Console()
    reader = Reader(sweep.metric, sweep.goal)
    if args.dry_run:
        dry_run(state, reader, count, args.parallel or 1, console)
        return 0
    with only_one(out / "lock", "sweep"):
        state = open_state(out, sweep, args.data, args.seed)  # as it is now that nobody writes
        state.save()
        return _train(state, reader, count, args, console)


def how_many(sweep: Sweep, count: int | None) -> int:
    """Decide how many runs there are to be in all.

    Raises:
        UserError: nothing says where a random search ends.
    """
    if count is not None and count < 1:
        raise UserError(f"expected --count of at least 1 but got {count}")
    ends = (count, sweep.content.get("run_cap"), grid_size(sweep))
    known = [end for end in ends if end is not None]
    if not known:
        raise UserError(
            f"expected --count with method {sweep.method}, which has no end of its own, but got "
            "none; add --count 20"
        )
    return min(known)


def _command(folder: CellFolder) -> list[str]:
    return [sys.executable, "-m", "fer_lightning.commands.study_cell", str(folder.path), "0"]


def _workers(args: argparse.Namespace) -> Workers:
    if args.ray or args.ray_address:
        return RayWorkers(_command, args.ray_address, args.parallel)
    parallel = args.parallel or 1
    return LocalWorkers(_command, environments(parallel, torch.cuda.device_count()))


def environments(parallel: int, gpus: int) -> list[dict[str, str]]:
    """Share this machine among workers: a GPU each, or the cores.

    >>> environments(2, gpus=4)
    [{'CUDA_VISIBLE_DEVICES': '0'}, {'CUDA_VISIBLE_DEVICES': '1'}]
    """
    if gpus:
        given = os.environ.get("CUDA_VISIBLE_DEVICES")
        names = given.split(",") if given else [str(number) for number in range(gpus)]
        return [{"CUDA_VISIBLE_DEVICES": names[k % len(names)]} for k in range(parallel)]
    if parallel == 1 or "OMP_NUM_THREADS" in os.environ:
        return [{} for _ in range(parallel)]
    threads = max(1, len(os.sched_getaffinity(0)) // parallel)
    return [{"OMP_NUM_THREADS": str(threads)} for _ in range(parallel)]


def _train(
    state: SweepState, reader: Reader, count: int, args: argparse.Namespace, console: Console
) -> int:
    def configure(point: dict[str, object]) -> str:
        return configuration_text(state.sweep, point, args.data)

    say = partial(console.print, highlight=False, soft_wrap=True, markup=False)
    try:
        with LiveSweep(state, reader, count, console) as table:
            Engine(
                state, reader, _workers(args), configure, count, table.watch, args.retry_failed
            ).run()
    except Stopped:
        write_table(state, reader)
        say(f"Stopped; the same command goes on where {state.out} ends.")
        return INTERRUPTED
    say(f"{len(state.trials)} runs in {write_table(state, reader)}")
    if any(reader.measure(trial).best is not None for trial in state.trials):
        say(f"Report: {write_sweep_report(state.out)[0]}")
    for line, where in stand_ins(run_facts(state.trials)).items():
        say(f"Note: {line}{where}")
    if any(state.out.glob("*/wandb/offline-run-*")):
        say(f"To show the runs on W&B, as group {state.sweep.name}:")
        say(f"  wandb sync {state.out}/*/wandb/offline-run-*")
    return _tell_failures(state, console)


def _tell_failures(state: SweepState, console: Console) -> int:
    """Say what is missing and why."""
    bad = [trial for trial in state.trials if trial.state not in ("done", "stopped")]
    for trial in bad:
        failed = trial.state == "failed"
        again = "try again with --retry-failed" if failed else "the same command goes on"
        for text in (
            f"{trial.name} {'failed' if failed else 'was killed'}; {again}:",
            f"  {trial.folder.last_words()}",
            f"  its log is {trial.folder.log}",
        ):
            console.print(text, highlight=False, soft_wrap=True, markup=False)
    return FAILED if bad else 0
