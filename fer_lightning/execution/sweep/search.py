"""Which point comes next and which run ends early: W&B's own search, the package ``sweeps``."""

import math
import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from fer_lightning.errors import UserError
from fer_lightning.execution.sweep.file import Sweep
from fer_lightning.execution.sweep.trial import Reader, Trial

with warnings.catch_warnings():  # of pydantic, about how the package is written
    warnings.simplefilter("ignore")
    import sweeps

TRIES = 50  # draws after which all points of a small space have been seen
SEARCH_STATE = {  # of ours → W&B's; what was stopped early has a metric as good as any
    "done": sweeps.RunState.finished,
    "stopped": sweeps.RunState.finished,
    "failed": sweeps.RunState.failed,
    "running": sweeps.RunState.running,
    "half-done": sweeps.RunState.pending,
    "waiting": sweeps.RunState.pending,
}


def check_search(sweep: Sweep) -> None:
    """Refuse a sweep file that W&B's schema or search does not take.

    Raises:
        UserError: with the first of its complaints.
    """
    content = sweep.decisive
    wrong = _violations(content)
    for name, how in sweep.parameters.items() if wrong else ():  # W&B does not say which
        alone = _violations({"method": "random", "parameters": {name: how}})
        wrong = [f"of '{name}': {alone[0]}"] if alone else wrong
    if not wrong:
        try:
            sweeps.next_run(content, [])
            if sweep.stops_early:
                sweeps.stop_runs(content, [])
        except Exception as error:  # the search raises what it likes
            wrong = [str(error) or type(error).__name__]
    if wrong:
        words = " ".join(str(wrong[0]).split())
        raise UserError(
            f"expected a sweep file that W&B takes in {sweep.path} but {words[:300]}; "
            "its schema is in W&B's documentation of sweeps"
        )


def _violations(content: dict[str, Any]) -> list[str]:
    """What W&B's schema finds wrong."""
    try:
        return sweeps.schema_violations_from_proposed_config(content)
    except Exception as error:  # of jsonschema, or a ValueError, by what is wrong
        return [str(error)]


def draw(sweep: Sweep, trials: Sequence[Trial], reader: Reader, seed: int) -> dict[str, Any] | None:
    """Choose the next point; None where every point has been drawn.

    The same seed and the same results so far give the same point.
    """
    runs = [_run(trial, reader) for trial in trials]
    seen = [trial.parameters for trial in trials]
    for again in range(TRIES):
        _seed(seed, len(trials), again)
        with warnings.catch_warnings():  # a Gaussian process of few points warns of itself
            warnings.simplefilter("ignore")
            found = sweeps.next_run(sweep.decisive, runs)
        if found is None:
            return None
        point = {name: plain(entry["value"]) for name, entry in found.config.items()}
        if point not in seen:  # the same options give the same run again
            return point
    return None


def to_stop(sweep: Sweep, trials: Sequence[Trial], reader: Reader) -> list[Trial]:
    """Name running trials that end early because others are better, by W&B's Hyperband."""
    if not sweep.stops_early:
        return []
    runs = [_run(trial, reader) for trial in trials]
    names = {run.name for run in sweeps.stop_runs(sweep.decisive, runs)}
    return [trial for trial in trials if trial.name in names]


def grid_size(sweep: Sweep) -> int | None:
    """Count the points of a grid; None for other methods.

    >>> from pathlib import Path
    >>> content = {"method": "grid", "parameters": {"a": {"values": [1, 2]}, "b": {"value": 3}}}
    >>> grid_size(Sweep(Path("s.yaml"), "s", content))
    2
    """
    if sweep.method != "grid":
        return None
    return math.prod(len(values) for values in map(_values, sweep.parameters.values()))


def _values(how: dict[str, Any]) -> Sequence[Any]:
    """What a parameter of a grid may be."""
    if "values" in how:
        return how["values"]
    if "value" in how:
        return [how["value"]]
    if "q" in how:
        return np.arange(how["min"], how["max"], how["q"]).tolist()
    return range(how["min"], how["max"] + 1)


def corners(sweep: Sweep) -> list[dict[str, Any]]:
    """Return points that together show every listed value and both ends of every range.

    >>> from pathlib import Path
    >>> parameters = {"a": {"values": [1, 2, 3]}, "b": {"min": 0.1, "max": 0.5}}
    >>> corners(Sweep(Path("s.yaml"), "s", {"method": "random", "parameters": parameters}))
    [{'a': 1, 'b': 0.1}, {'a': 2, 'b': 0.5}, {'a': 3, 'b': 0.1}]
    """
    first = draw(sweep, [], Reader(sweep.metric, sweep.goal), 0) or {}
    ends = {name: _ends(how, first.get(name)) for name, how in sorted(sweep.parameters.items())}
    most = max(map(len, ends.values()))
    return [{name: some[k % len(some)] for name, some in ends.items()} for k in range(most)]


def _ends(how: dict[str, Any], drawn: Any) -> Sequence[Any]:
    if "values" in how or "value" in how:
        return _values(how)
    exponents = how.get("distribution", "").endswith("log_uniform")
    ranged = "min" in how and "max" in how and not exponents
    return [how["min"], how["max"]] if ranged else [drawn]


def plain(value: Any) -> Any:
    """Turn NumPy's numbers, which no JSON file takes, into Python's.

    >>> plain(np.float64(0.5)), plain({"a": [np.int64(3)]})
    (0.5, {'a': [3]})
    """
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _run(trial: Trial, reader: Reader) -> sweeps.SweepRun:
    """Tell the search of a trial.

    History and summary are assigned: the constructor drops both silently under pydantic 2.
    """
    measured = reader.measure(trial)
    config = {name: {"value": value} for name, value in trial.parameters.items()}
    run = sweeps.SweepRun(name=trial.name, config=config, state=SEARCH_STATE[trial.state])
    run.history = [{reader.metric: value} for value in measured.history]
    run.summary_metrics = {} if measured.best is None else {reader.metric: measured.best}
    return run


def _seed(*numbers: int) -> None:
    """The search takes its randomness from the two global sources, and so from here alone."""
    first, second = np.random.SeedSequence(numbers).generate_state(2).tolist()
    random.seed(first)
    np.random.seed(second)
