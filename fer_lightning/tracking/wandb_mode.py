"""Where W&B tracks a run, whether it can be used online, and how long a run waits for it."""

import os
import socket
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit
from urllib.request import getproxies

import wandb
from lightning.pytorch.utilities import rank_zero_warn

Mode = Literal["online", "offline", "disabled"]
BEGIN = 30  # seconds for the server to take a run
CONNECT = 5  # seconds for it to be there at all


@dataclass(frozen=True)
class Wandb:
    """Where and how W&B tracks a run.

    Args:
        mode: ``auto`` is online when a key is configured, otherwise offline.
        project: name of the project.
        entity: user or team; your default one without it.
        group: name that runs belonging together share.
        tags: words to find the run by.
        log_model: upload the best checkpoint as an artifact at the end.

    In a sweep, project and entity are the sweep's, and runs without a group have the sweep's name.
    """

    mode: Literal["auto", "online", "offline", "disabled"] = "auto"
    project: str = "fer_lightning"
    entity: str | None = None
    group: str | None = None
    tags: tuple[str, ...] = ()
    log_model: bool = False


def choose_mode(mode: Literal["auto", "online", "offline", "disabled"]) -> Mode:
    """Decide ``auto``: ``WANDB_MODE`` first, then online if there is a key."""
    if mode != "auto":
        return mode
    wanted = os.environ.get("WANDB_MODE", "online")
    if wanted in ("disabled", "dryrun", "offline"):
        return "disabled" if wanted == "disabled" else "offline"
    return "online" if has_key() else "offline"


def has_key() -> bool:
    """Whether a W&B key is configured; nobody is asked for one."""
    try:
        return bool(wandb.login(prompt=False, verify=False))
    except (wandb.errors.Error, ValueError) as error:  # e.g. a key of the wrong length
        rank_zero_warn(f"The configured W&B key cannot be used: {error}")
        return False


def check_online(look_for_key: bool) -> None:
    """Find out at once that there is no key or no network; W&B itself would try for a minute.

    Raises:
        OSError: there is no key, or nobody listens where W&B should be.
    """
    if look_for_key and not has_key():
        raise OSError("no key is configured; see wandb login")
    url = wandb.setup().settings.base_url
    address = urlsplit(url)
    if getproxies() or address.hostname is None:
        return
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname, port), timeout=CONNECT).close()
    except OSError as error:
        raise OSError(f"no connection to {url}: {error.strerror or error}") from error


def bounded(mode: Mode, end: float) -> wandb.Settings:
    """Bound how long a server that is slow, or gone, can hold up a run; the environment wins.

    Args:
        mode: offline W&B need not say anything.
        end: seconds for the last data of a run.
    """
    return wandb.Settings(
        init_timeout=float(os.environ.get("WANDB_INIT_TIMEOUT", BEGIN)),
        finish_timeout=float(os.environ.get("WANDB_FINISH_TIMEOUT", end)),
        finish_timeout_raises=True,
        silent=mode != "online",
    )
