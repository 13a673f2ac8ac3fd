"""What a sweep's agent decides for the run that it starts, by environment variables."""

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass

RUN, SWEEP, PROJECT = "WANDB_RUN_ID", "WANDB_SWEEP_ID", "WANDB_PROJECT"


@dataclass(frozen=True)
class Where:
    """A run's place on W&B."""

    project: str
    run_id: str


def sweep_of(environment: Mapping[str, str]) -> str | None:
    """The sweep that this run belongs to.

    >>> sweep_of({"WANDB_SWEEP_ID": "k3x"}), sweep_of({})
    ('k3x', None)
    """
    return environment.get(SWEEP) or None


def take_over(environment: MutableMapping[str, str], project: str, run_id: str) -> Where:
    """Return project and id of a run; in a sweep the agent's, and what it left open is filled in.

    In a sweep W&B itself listens to the environment only.

    >>> take_over({"WANDB_SWEEP_ID": "s", "WANDB_PROJECT": "swept"}, "ours", "abc")
    Where(project='swept', run_id='abc')
    >>> take_over({"WANDB_PROJECT": "another"}, "ours", "abc")
    Where(project='ours', run_id='abc')
    """
    if sweep_of(environment) is None:
        return Where(project, environment.get(RUN, run_id))
    environment.setdefault(PROJECT, project)
    environment.setdefault(RUN, run_id)
    return Where(environment[PROJECT], environment[RUN])


def in_sweep() -> bool:
    """Whether a sweep's agent started this process; it then ends runs that it has seen enough of.

    >>> in_sweep()
    False
    """
    return sweep_of(os.environ) is not None
