"""The command of a sweep file written out for one run, by W&B's own code."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from wandb.sdk.launch.sweeps.utils import create_sweep_command, create_sweep_command_args


def expand(command: Sequence[str] | None, parameters: Mapping[str, Any]) -> list[str]:
    """Write out ``${args}``, ``${interpreter}``, ``${env}`` and ``${envvar:NAME}``."""
    args = {name: {"value": value} for name, value in parameters.items()}
    words = create_sweep_command_args({"args": args})
    words |= {"interpreter": [sys.executable], "env": ["/usr/bin/env"]}
    written: list[str] = []
    for word in map(str, create_sweep_command(list(command) if command else None)):
        macro = word.startswith("${") and word.endswith("}")
        written += words.get(word[2:-1]) or [] if macro else [word]
    return written
