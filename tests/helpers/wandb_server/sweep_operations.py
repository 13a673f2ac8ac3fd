"""GraphQL operations of `wandb sweep` and `wandb agent`."""

import json
import warnings
from typing import Any

import yaml

from wandb_server.run_operations import Variables, project_of
from wandb_server.state import State, Sweep

with warnings.catch_warnings():  # of pydantic, about how the package is written
    warnings.simplefilter("ignore")
    import sweeps


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
    commands = _stops(state, sweep, at_work) if at_work else _next(state, sweep)
    return {"agentHeartbeat": {"agent": {"id": v["id"]}, "commands": json.dumps(commands)}}


def _stops(state: State, sweep: Sweep, at_work: list[str]) -> list[Any]:
    """Stop runs that W&B's Hyperband stops."""
    config = yaml.safe_load(sweep.config)
    if "early_terminate" not in config:
        return []
    stopped = sweeps.stop_runs(config, _runs(state, sweep, config))
    return [{"type": "stop", "run_id": run.name} for run in stopped if run.name in at_work]


def _next(state: State, sweep: Sweep) -> list[Any]:
    """One more run as W&B's search draws it, or the end."""
    config = yaml.safe_load(sweep.config)
    point = sweeps.next_run(config, _runs(state, sweep, config))
    if point is None:
        return [{"type": "exit"}]
    sweep.given[f"{sweep.name}run{len(sweep.given)}"] = point.config
    run = {"type": "run", "run_id": list(sweep.given)[-1], "args": point.config}
    return [run | {"program": config.get("program", "")}]


def _runs(state: State, sweep: Sweep, config: dict[str, Any]) -> list[sweeps.SweepRun]:
    """What the search is told of the runs so far."""
    metric = config.get("metric", {}).get("name")
    found = []
    for name, point in sweep.given.items():
        run = state.runs.get((sweep.project, name))
        told = sweeps.SweepRun(name=name, config=point, state=run.state if run else "pending")
        told.history = [{metric: value} for value in run.logged(metric)] if run else []
        found.append(told)
    return found


OPERATIONS = {
    "UpsertSweep": upsert,
    "SweepWithRuns": with_runs,
    "CreateAgent": create_agent,
    "Heartbeat": heartbeat,
}
