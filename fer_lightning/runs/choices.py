"""Options that a run chooses itself where they are ``auto``; its config.yaml has what it chose."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from fer_lightning.errors import UserError
from fer_lightning.runs.files import read_config

AUTO = "auto"
CHOICES = (("threads",), ("model", "compile"))


def open_choices(config: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the options that are left to the run.

    >>> open_choices({"threads": "auto", "model": {"compile": False}})
    [('threads',)]
    """
    return [path for path in CHOICES if _get(config, path) == AUTO]


def with_choice(config: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a configuration with another value of an option.

    >>> with_choice({"model": {"lr": 1, "compile": "auto"}}, ("model", "compile"), True)
    {'model': {'lr': 1, 'compile': True}}
    """
    name, *inner = path
    deeper = with_choice(config.get(name) or {}, tuple(inner), value) if inner else value
    return {**config, name: deeper}


def with_choices_of(config: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """Take over what a run has chosen before.

    >>> with_choices_of({"threads": "auto", "seed": 1}, {"threads": 2, "seed": 3})
    {'threads': 2, 'seed': 1}
    """
    for path in open_choices(config):
        config = with_choice(config, path, _get(written, path))
    return dict(config)


def same_settings(config: str, path: Path) -> bool:
    """Whether a config.yaml is this configuration, or this with choices made."""
    if path.read_bytes() == config.encode():
        return True
    asked = yaml.safe_load(config) if AUTO in config else {}
    if not isinstance(asked, dict) or not open_choices(asked):
        return False
    with suppress(UserError):  # it is damaged
        written = read_config(path)
        return with_choices_of(asked, written) == written
    return False


def _get(config: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = config
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
