"""Two folders for one cell: the same training twice, or two that were set up differently."""

from collections.abc import Iterator, Mapping
from typing import Any

from fer_lightning.errors import UserError
from fer_lightning.runs.files import read_config
from fer_lightning.runs.folder import RunFolder
from fer_lightning.runs.identity import decisive
from fer_lightning.runs.run import Run

MOST_NAMED = 3  # options that a message names
UNSET = "unset"
OLD_NAMES = {"seed": "seed_everything"}  # what `decisive` calls otherwise than the options


def twin_of(one: Run, other: Run) -> str:
    """Say why the second of two runs for one cell does not count.

    A copy began when the other did, a repetition has the same options; a run's name, its folders
    and what only looks do not matter.

    Raises:
        UserError: they were trained differently; it names the options.
    """
    if one.identity and one.identity == other.identity:
        return f"it is the same run as {one.path}"
    apart, copied = _apart(one, other), one.at("started") == other.at("started")
    if apart or (one.identity and other.identity) or (apart is None and not copied):
        raise UserError(_refusal(one, other, apart or []))
    if copied:
        return f"it is the same run as {one.path}"
    return f"it repeats {one.path} with the same options, so that they count once"


def _apart(one: Run, other: Run) -> list[str] | None:
    """Name the options by which results may differ; None where a configuration is missing."""
    try:
        first, second = _decides(one), _decides(other)
    except UserError:
        return None
    names = sorted({*first, *second})
    values = {name: (first.get(name, UNSET), second.get(name, UNSET)) for name in names}
    return [f"{name} ({a} and {b})" for name, (a, b) in values.items() if a != b]


def _decides(run: Run) -> dict[str, Any]:
    config = read_config(RunFolder(run.path).config)
    return dict(_flat(decisive(config, run.fingerprint)))


def _flat(nested: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Write options as the command line does.

    >>> dict(_flat({"trainer": {"max_epochs": 2}, "seed": 1}))
    {'trainer.max_epochs': 2, 'seed_everything': 1}
    """
    for name, value in nested.items():
        path = f"{above}.{name}" if above else OLD_NAMES.get(name, name)
        if isinstance(value, Mapping):
            yield from _flat(value, path)
        else:
            yield path, value


def _refusal(one: Run, other: Run, apart: list[str]) -> str:
    how = f"with another {', '.join(apart[:MOST_NAMED])}" if apart else "differently"
    more = f" and {len(apart) - MOST_NAMED} more" if len(apart) > MOST_NAMED else ""
    return (
        f"expected one run for {one.name} but {one.path} and {other.path} were trained "
        f"{how}{more}; report on each alone, or remove one of them"
    )
