"""Choosing some cells of a study: ``--only model=cnn,seed=42``."""

from collections.abc import Sequence

from fer_lightning.errors import UserError, nearest
from fer_lightning.execution.study.execute import Job

AXES = {"model": str, "fraction": float, "seed": int}


def parse_only(given: Sequence[str]) -> dict[str, set[str | float | int]]:
    """Read ``key=value`` words; values of the same key are alternatives.

    Raises:
        UserError: an unknown key, or a value of another kind.

    >>> parse_only(["model=cnn,seed=42", "seed=43"])
    {'model': {'cnn'}, 'seed': {42, 43}}
    """
    chosen: dict[str, set[str | float | int]] = {}
    for pair in (pair for word in given for pair in word.split(",")):
        key, _, value = pair.partition("=")
        if key not in AXES:
            raise UserError(
                f"expected --only model=, fraction= or seed= but got '{pair}'; {nearest(key, AXES)}"
            )
        try:
            chosen.setdefault(key, set()).add(AXES[key](value))
        except ValueError as error:
            raise UserError(f"expected a number for --only {key} but got '{value}'") from error
    return chosen


def select(jobs: Sequence[Job], chosen: dict[str, set[str | float | int]]) -> list[Job]:
    """Keep the chosen cells.

    Raises:
        UserError: there is none.
    """
    kept = [
        job
        for job in jobs
        if all(getattr(job.cell, axis) in values for axis, values in chosen.items())
    ]
    if not kept:
        there = {axis: list(dict.fromkeys(getattr(j.cell, axis) for j in jobs)) for axis in AXES}
        raise UserError(f"expected cells that --only chooses but there is none; there are {there}")
    return kept
