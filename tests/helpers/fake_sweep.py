"""A sweep whose trainings are fakes, in a process of its own, so that it can be killed.

python fake_sweep.py OUT COUNT PARALLEL SWEEP.json
"""

import json
import sys
from pathlib import Path

import yaml
from rich.console import Console

from fer_lightning.errors import UserError
from fer_lightning.execution.sweep.engine import Engine
from fer_lightning.execution.sweep.file import Sweep
from fer_lightning.execution.sweep.live import LiveSweep
from fer_lightning.execution.sweep.results import write_table
from fer_lightning.execution.sweep.trial import open_state
from fer_lightning.execution.training import Stopped, only_one
from fer_lightning.execution.workers import LocalWorkers

FIT = Path(__file__).with_name("fake_fit.py")
RANDOM = {
    "method": "random",
    "metric": {"name": "val/acc", "goal": "maximize"},
    "parameters": {"lr": {"min": 0.1, "max": 0.9}, "sleep": {"value": 0.02}},
}


def command(folder):
    return [sys.executable, str(FIT), str(folder.path)]


def sweep_of(content, **parameters):
    given = {name: {"value": value} for name, value in parameters.items()}
    return Sweep(Path("s.yaml"), "s", content | {"parameters": content["parameters"] | given})


def configure(point):
    if point.get("lr") == "refused":
        raise UserError("expected a number but got refused")
    return yaml.safe_dump(point)


def run(out, sweep, count, parallel=1, retry_failed=False, workers=None):
    """Run the sweep; return its state."""
    with only_one(out / "lock", "sweep"):
        state = open_state(out, sweep, None, 0)
        state.save()
        workers = workers or LocalWorkers(command, [{}] * parallel)
        try:
            with LiveSweep(state, count, Console(width=200)) as table:
                Engine(state, workers, configure, count, table.watch, retry_failed).run()
        finally:
            write_table(state)
        return state


if __name__ == "__main__":
    out, count, parallel, content = sys.argv[1:]
    try:
        run(Path(out), sweep_of(json.loads(content)), int(count), int(parallel))
    except Stopped:
        print("stopped")
        sys.exit(130)
    except UserError as error:
        print(error)
        sys.exit(2)
