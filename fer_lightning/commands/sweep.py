"""``fer-lightning sweep``: runs a W&B sweep file with no account, and goes on where it stopped."""

import argparse
import inspect
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
import yaml
from rich.console import Console
from rich.table import Table

from fer_lightning.commands.options import Options
from fer_lightning.commands.resolve import resolve, resolver
from fer_lightning.errors import UserError, nearest
from fer_lightning.execution.study.cells import CellFolder, one_of_many
from fer_lightning.execution.sweep.engine import Engine
from fer_lightning.execution.sweep.file import Sweep, read_sweep
from fer_lightning.execution.sweep.live import LiveSweep, counts
from fer_lightning.execution.sweep.results import label, run_facts, short_names, write_table
from fer_lightning.execution.sweep.search import check_search, corners, draw, grid_size
from fer_lightning.execution.sweep.trial import SweepState, open_state
from fer_lightning.execution.training import INTERRUPTED, Stopped, only_one
from fer_lightning.execution.workers import LocalWorkers, RayWorkers, Workers
from fer_lightning.report.sweep import write_sweep_report
from fer_lightning.runs.provenance import stand_ins
from fer_lightning.screen import Screen, say
from fer_lightning.shipped import find
from fer_lightning.tracking.sweep_command import expand
from fer_lightning.training.losses import AdaptiveWeighting, AttentionRegulariser

FIT = "fit"
LOSSES = {"regulariser": AttentionRegulariser, "weighting": AdaptiveWeighting}
MOST = 20  # points that are printed
FAILED = 1  # exit code
DECIDES_OTHERS = ("config", "model.net")  # parameters on which it depends what options there are


def fit_options(sweep: Sweep, point: dict[str, Any]) -> list[str]:
    """Return the options of ``fit`` in the command of a sweep file, written out for one point.

    Raises:
        UserError: the command is not ``fer_lightning.cli fit`` or ``fer-lightning fit``.
    """
    words = expand(sweep.content.get("command"), point)
    for place, word in enumerate(words[1:], 1):
        before = Path(words[place - 1]).name
        if word == FIT and before in ("fer_lightning.cli", "fer-lightning", "cli.py"):
            return words[place + 1 :]
    raise UserError(
        f"expected a command in {sweep.path} that runs 'fer_lightning.cli fit' but got "
        f"'{' '.join(map(str, words))[:120]}'; a local sweep runs nothing else"
    )


def configuration(sweep: Sweep, point: dict[str, Any], data: str | None = None) -> dict[str, Any]:
    """Return the whole configuration of a run.

    W&B shows the runs of a sweep as a group, also when they are synced later.

    Raises:
        UserError: an option that there is not, or a value that it does not take.
    """
    place = [] if data is None else [f"--data.data_dir={data}"]
    config = resolve([*fit_options(sweep, point), *place])
    one_of_many(config, sweep.name, "sweep")
    for name in ("project", "entity"):  # as an agent does
        if sweep.content.get(name):
            config["wandb"][name] = str(sweep.content[name])
    return config


def configuration_text(sweep: Sweep, point: dict[str, Any], data: str | None = None) -> str:
    """Return the content of a run's config.yaml."""
    return yaml.safe_dump(configuration(sweep, point, data), sort_keys=False)


def check_options(sweep: Sweep, data: str | None = None) -> None:
    """Parse points that show every listed value and both ends of every range.

    Raises:
        UserError: an option that there is not (the nearest is named), or a value that it does not
            take, before anything is trained.
    """
    for point in corners(sweep):
        try:
            configuration(sweep, point, data)
        except UserError as error:
            _check_names(sweep, point)
            raise UserError(f"{sweep.path}: {error}") from error


def _check_names(sweep: Sweep, point: dict[str, Any]) -> None:
    """Find the parameter that is no option of ``fit``."""
    deciding = {name: point[name] for name in DECIDES_OTHERS if name in point}
    try:
        known = option_names(resolve(fit_options(sweep, deciding)))
    except UserError:
        return  # names are not what is wrong
    for name in point:
        if name not in known:
            raise UserError(
                f"expected options of fit as parameters of {sweep.path} but got '{name}'; "
                f"{_suggest(name, known)}"
            )


def _suggest(name: str, known: Sequence[str]) -> str:
    """Name the nearest option; not all of them where none is near."""
    words = nearest(name, known)
    return words if words.startswith("did you") else "fer-lightning fit --help names them"


def option_names(config: dict[str, Any]) -> list[str]:
    """Name every option that ``fit`` has with a model.

    >>> names = option_names(resolve(["--model.net=vit"]))
    >>> [name in names for name in ("model.lr", "model.net.patch_size", "model.net.stem")]
    [True, True, False]
    """
    of_parser = [action.dest for action in resolver()._parser(FIT)._actions]
    module, _, name = config["model"]["net"]["class_path"].rpartition(".")
    net = inspect.signature(getattr(import_module(module), name)).parameters
    of_losses = [
        f"model.{one}.{part.name}" for one, kind in LOSSES.items() for part in fields(kind)
    ]
    return [*of_parser, *DECIDES_OTHERS, *(f"model.net.{name}" for name in net), *of_losses]


def dry_run(state: SweepState, count: int, parallel: int, console: Console) -> None:
    """Print runs that there are and points that come next; later points of bayes may differ."""
    sweep = state.sweep
    state = replace(state, trials=list(state.trials))
    begun = counts(state.trials, count)
    while len(state.trials) < min(count, MOST):
        point = draw(sweep, state.trials, state.reader, state.seed)
        if point is None:
            break
        state.trials.append(state.trial(point))
    short = short_names(sweep.varied)
    early = ", bad runs stopped early by Hyperband" if sweep.stops_early else ""
    say(console, f"{sweep.name}: {sweep.method}, {count} runs, {sweep.goal} {sweep.metric}{early}")
    table = Table()
    for name in ("run", "state", *short.values()):
        table.add_column(name, justify="left" if name in ("run", "state") else "right")
    for trial in state.trials[:MOST]:
        table.add_row(trial.name, trial.state, *(label(trial.parameters[name]) for name in short))
    console.print(table)
    if sweep.method == "bayes":
        say(console, "Later points will depend on the results of earlier ones.")
    if count > MOST:
        say(console, f"and {count - MOST} more")
    if state.trials:
        words = shlex.join(fit_options(sweep, state.trials[-1].parameters))
        say(console, f"The last of these by hand: fer-lightning fit {words}")
    say(console, f"{begun}{_left(state, count, parallel)}")


def _left(state: SweepState, count: int, parallel: int) -> str:
    """Estimate the time of the rest from runs that are done, if there are any."""
    over = [trial for trial in state.trials if trial.state in ("done", "stopped")]
    times = [t for trial in over if (t := state.measure(trial).seconds) is not None]
    if not times:
        return "; how long a run takes is known when the first one is done"
    seconds = sum(times) / len(times) * (count - len(over)) / parallel
    return f"; the rest takes about {timedelta(seconds=round(seconds))} at the pace so far"


def parser() -> argparse.ArgumentParser:
    """Return the command's options.

    >>> parser().parse_args(["sweeps/learning_rate.yaml", "--count", "20"]).count
    20
    """
    options = Options(prog="fer-lightning sweep", description=__doc__)
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
    console = Screen()
    if args.dry_run:
        dry_run(state, count, args.parallel or 1, console)
        return 0
    with only_one(out / "lock", "sweep"):
        state = open_state(out, sweep, args.data, args.seed)  # as it is now that nobody writes
        state.save()
        return _train(state, count, args, console)


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


def _train(state: SweepState, count: int, args: argparse.Namespace, console: Console) -> int:
    def configure(point: dict[str, object]) -> str:
        return configuration_text(state.sweep, point, args.data)

    try:
        with LiveSweep(state, count, console) as table:
            Engine(state, _workers(args), configure, count, table.watch, args.retry_failed).run()
    except Stopped:
        write_table(state)
        say(console, f"Stopped; the same command goes on where {state.out} ends.")
        return INTERRUPTED
    say(console, f"{len(state.trials)} runs in {write_table(state)}")
    if any(state.measure(trial).best is not None for trial in state.trials):
        say(console, f"Report: {write_sweep_report(state.out)[0]}")
    for line, where in stand_ins(run_facts(state.trials)).items():
        say(console, f"Note: {line}{where}")
    if any(state.out.glob("*/wandb/offline-run-*")):
        say(console, f"To show the runs on W&B, as group {state.sweep.name}:")
        say(console, f"  wandb sync {state.out}/*/wandb/offline-run-*")
    return _tell_failures(state, console)


def _tell_failures(state: SweepState, console: Console) -> int:
    """Say what is missing and why."""
    bad = [trial for trial in state.trials if trial.state not in ("done", "stopped")]
    for trial in bad:
        say(console, trial.folder.why_not_done(trial.name, trial.state == "failed"))
    return FAILED if bad else 0
