"""GraphQL operations of `wandb sweep` and `wandb agent`."""

import itertools
import json
import random
from typing import Any

import yaml

from wandb_server.run_operations import Variables, project_of
from wandb_server.state import State, Sweep


def upsert(state: State, v: Variables) -> Any:
    project = v.get("projectName") or "uncategorized"
    known = [sweep for sweep in state.sweeps.values() if sweep.id == v.get("id")]
    sweep = known[0] if known else Sweep(f"sweep{len(state.sweeps)}", project, v["config"])
    state.sweeps[sweep.name] = sweep
    answer = {"id": sweep.id, "name": sweep.name, "project": project_of(sweep.project)}
    return {"upsertSweep": {"sweep": answer, "configValidationWarnings": []}}


def with_runs(state: State, v: Variables) -> Any:
    sweep = state.sweeps[v["sweep"]]
    answer = {"id": sweep.id, "name": sweep.name, "config": sweep.config, "state": "RUNNING"}
    answer |= {"method": yaml.safe_load(sweep.config).get("method"), "runs": {"edges": []}}
    return {"project": project_of(sweep.project) | {"sweep": answer}}


def create_agent(state: State, v: Variables) -> Any:
    sweep = state.sweeps[v["sweep"]]
    sweep.agents.append(f"agent-{sweep.name}-{len(sweep.agents)}")
    return {"createAgent": {"agent": {"id": sweep.agents[-1]}}}


def heartbeat(state: State, v: Variables) -> Any:
    sweep = next(one for one in state.sweeps.values() if v["id"] in one.agents)
    at_work = [name for name, works in json.loads(v["runState"]).items() if works]
    commands = _stops(state, sweep, at_work, v["@should_stop"]) if at_work else _next(sweep)
    return {"agentHeartbeat": {"agent": {"id": v["id"]}, "commands": json.dumps(commands)}}


def _stops(state: State, sweep: Sweep, at_work: list[str], should_stop: Any) -> list[Any]:
    """Stop runs that the test wants stopped, as hyperband would."""
    runs = (state.runs.get((sweep.project, name)) for name in at_work)
    return [{"type": "stop", "run_id": run.name} for run in runs if run and should_stop(run)]


def _next(sweep: Sweep) -> list[Any]:
    """One more run, or the end."""
    config = yaml.safe_load(sweep.config)
    number = len(sweep.given)
    point = next(itertools.islice(points(config), number, None), None)
    if point is None:
        return [{"type": "exit"}]
    sweep.given.append(f"{sweep.name}run{number}")
    args = {name: {"value": value} for name, value in point.items()}
    run = {"type": "run", "run_id": sweep.given[-1], "args": args}
    return [run | {"program": config.get("program", "")}]


def points(config: dict[str, Any]) -> Any:
    """Points of a sweep: all of a grid, otherwise any number of random ones.

    >>> [*points({"method": "grid", "parameters": {"a": {"values": [1, 2]}, "b": {"value": 3}}})]
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    parameters = config["parameters"]
    if config["method"] == "grid":
        choices = [p["values"] if "values" in p else [p["value"]] for p in parameters.values()]
        for point in itertools.product(*choices):
            yield dict(zip(parameters, point, strict=True))
        return
    rng = random.Random(0)
    while True:
        yield {name: _draw(p, rng) for name, p in parameters.items()}


def _draw(parameter: dict[str, Any], rng: random.Random) -> Any:
    if "min" not in parameter:
        return rng.choice(parameter.get("values") or [parameter.get("value")])
    low, high = parameter["min"], parameter["max"]
    if isinstance(low, int) and isinstance(high, int):
        return rng.randint(low, high)
    return low * (high / low) ** rng.random() if low > 0 else rng.uniform(low, high)


OPERATIONS = {
    "UpsertSweep": upsert,
    "SweepWithRuns": with_runs,
    "CreateAgent": create_agent,
    "Heartbeat": heartbeat,
}
