"""What a local sweep costs beyond its runs: each run's own work, against a smoke-size run.

    python benchmarks/sweep_overhead.py

A run is trained twice: by the sweep, and by the same process started alone with the configuration
of the same point. What the sweep adds is the difference (noise of process starts
included); beside it stands the sweep's own work measured alone, with trainings that copy their
results and end: drawing a point, writing it out, state, table and looks, with 20 and with 100 runs
before it, for the cheapest search and the dearest, one process start (of ``cp``) included. The goal
is at most 5 % of a smoke-size run.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from rich.console import Console

from fer_lightning.commands.sweep import configuration_text
from fer_lightning.execution.study.cells import CellFolder
from fer_lightning.execution.sweep.engine import Engine
from fer_lightning.execution.sweep.file import Sweep, read_sweep
from fer_lightning.execution.sweep.live import LiveSweep
from fer_lightning.execution.sweep.search import draw
from fer_lightning.execution.sweep.trial import Reader, SweepState, open_state
from fer_lightning.execution.workers import LocalWorkers
from fer_lightning.runs.folder import RunFolder, write_json

SWEEP = """
name: smoke
method: %s
metric: {name: val/acc, goal: maximize}
early_terminate: {type: hyperband, min_iter: 1}
command: ["${interpreter}", -m, fer_lightning.cli, fit, --config, %s/vit.yaml, "${args}"]
parameters:
  data.source: {value: drawn}
  data.drawn.size: {value: 280}
  trainer.max_epochs: {value: 2}
  wandb.mode: {value: disabled}
  model.lr: {distribution: log_uniform_values, min: 1.0e-5, max: 1.0e-2}
  model.net.depth: {values: [2, 3, 4]}
"""
CONFIGS = Path(__file__).parents[1] / "configs"
GOAL = 0.05  # of a smoke-size run


def run_command(folder: CellFolder) -> list[str]:
    return [sys.executable, "-m", "fer_lightning.commands.study_cell", str(folder.path), "0"]


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def sweep_in(folder: Path, method: str) -> Sweep:
    path = folder / f"{method}.yaml"
    path.write_text(SWEEP % (method, CONFIGS))
    return read_sweep(path)


def run(state: SweepState, count: int, command: Callable[[CellFolder], list[str]]) -> None:

    def configure(point: dict[str, object]) -> str:
        return configuration_text(state.sweep, point)

    with LiveSweep(state, count, Console(file=sys.stderr)) as table:
        Engine(state, LocalWorkers(command), configure, count, table.watch).run()


def own_work(folder: Path, method: str, before: int, count: int) -> float:
    """Seconds per run of everything but the training, which is replaced by a copy of files."""
    trained = [folder / f"trained-{method}" / f"{kind}" for kind in range(7)]
    for kind, path in enumerate(trained):
        path.mkdir(parents=True)
        acc = 0.2 + 0.001 * kind
        rows = "".join(f"{epoch},{acc}\n" for epoch in range(2))
        RunFolder(path).metrics.write_text(f"epoch,val/acc\n{rows}")
        measured = {"acc": acc}
        write_json(path / "summary.json", {"seconds": 1.0, "val": measured, "test": measured})

    def command(cell: CellFolder) -> list[str]:
        number = int(cell.path.name.rpartition("-")[2])
        return ["cp", "-R", f"{trained[number % len(trained)]}/.", str(cell.path)]

    state = open_state(folder / f"own-{method}", sweep_in(folder, method), None, 0)
    run(state, before, command)
    return seconds(lambda: run(state, before + count, command)) / count


def compare(folder: Path, repeats: int) -> tuple[list[float], list[float]]:
    """Seconds of runs alone and of the same runs by a sweep, in turn."""
    sweep = sweep_in(folder, "random")
    took: dict[str, list[float]] = {"alone": [], "swept": []}

    def alone(repeat: int) -> None:
        point = draw(sweep, [], Reader(sweep.metric, sweep.goal), repeat)
        assert point is not None
        place = RunFolder(folder / f"alone-{repeat}")
        place.path.mkdir()
        place.config.write_text(configuration_text(sweep, point))
        command = run_command(CellFolder(place.path))
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        took["alone"].append(seconds(lambda: subprocess.run(command, check=True, **quiet)))

    def swept(repeat: int) -> None:
        state = open_state(folder / f"out-{repeat}", sweep, None, repeat)
        took["swept"].append(seconds(lambda: run(state, 1, run_command)))

    for repeat in range(repeats):
        for way in (alone, swept) if repeat % 2 else (swept, alone):
            way(repeat)
    return took["alone"], took["swept"]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=6)
    options.add_argument("--runs", type=int, default=10, help="measured, of each kind")
    options.add_argument("--before", type=int, nargs="+", default=[20, 100])
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        configuration_text(sweep_in(folder, "random"), {})  # imports and the parser, once a sweep
        own = {
            (method, before): own_work(folder / f"{before}", method, before, args.runs)
            for before in args.before
            for method in ("random", "bayes")
            if not (folder / f"{before}").mkdir(exist_ok=True)
        }
        alone, swept = compare(folder, args.repeats)
    one = median(alone)
    print(f"smoke-size run alone         {one:8.2f} s (median of {args.repeats})")
    print(f"the same by a sweep          {median(swept):8.2f} s")
    print(f"difference                   {(median(swept) - one) / one:8.1%} of the run")
    for (method, before), took in own.items():
        what = f"{method}, {before} runs before"
        print(f"own work, {what:<22} {1000 * took:6.0f} ms per run, {took / one:.2%}")
    worst = max(own.values())
    print(f"goal: at most {GOAL:.0%}: {'met' if worst <= GOAL * one else 'MISSED'}")


if __name__ == "__main__":
    main()
