"""What a run starts with: its name, its folder, its identity, its checkpoints."""

import json
import secrets
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import ModelCheckpoint

from fer_lightning import keys
from fer_lightning.errors import UserError
from fer_lightning.keys import key
from fer_lightning.tracking.run_folder import RunFolder, unfinished_run


def run_name(settings: Any, subcommand: str) -> str:
    """Return a folder name that tells runs apart: ``vit-30pct-seed42``."""
    if settings.run_name:
        return Path(settings.run_name).name
    fraction = settings.data.fraction
    parts = [
        *([] if subcommand == "fit" else [subcommand]),
        settings.model.net.class_path.rsplit(".", 1)[-1].lower(),
        *([] if fraction == 1 else [f"{100 * fraction:g}pct"]),
        f"seed{settings.seed_everything}",
    ]
    return "-".join(parts)


def earlier_run(root: Path, given: str, config: str) -> RunFolder:
    """Find the run to go on with.

    Args:
        root: folder of runs.
        given: a run folder, or ``same`` for the newest run of this configuration.
        config: the configuration as text.

    Raises:
        UserError: there is none.
    """
    same = given == "same"
    found = unfinished_run(root, config) if same else RunFolder(Path(given))
    if found is None or not found.config.is_file():
        raise UserError(
            "expected a run of this configuration to go on with but found none in "
            f"{root if same else given}; leave out --resume to start one"
        )
    return found


def run_facts(folder: RunFolder, seed: int, resuming: bool) -> dict[str, Any]:
    """How a run was started; a resumed run keeps its identity."""
    if resuming and folder.run.is_file():
        return json.loads(folder.run.read_text())
    return {
        "run": folder.path.name,
        "wandb_id": secrets.token_hex(4),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["fer-lightning", *sys.argv[1:]]),
        "seed": seed,
    }


def checkpointing(folder: RunFolder) -> list[ModelCheckpoint]:
    """Keep the best epoch by validation accuracy, and the last one to go on from."""
    where: dict[str, Any] = {"dirpath": folder.checkpoints, "enable_version_counter": False}
    best = ModelCheckpoint(filename="best", monitor=key("val", keys.ACC), mode="max", **where)
    return [best, ModelCheckpoint(filename="last", **where)]


def listed(value: Any) -> list[Any]:
    """Whatever a trainer argument allows, as a list of objects.

    >>> listed(None), listed(True), listed(1), listed((1, 2))
    ([], [], [1], [1, 2])
    """
    if value is None or isinstance(value, bool):
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
