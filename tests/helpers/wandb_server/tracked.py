"""A home of its own in which clients talk to one server."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import wandb

from wandb_server.server import WandbServer

FORGET = ("RUN_ID", "SWEEP_ID", "SWEEP_PARAM_PATH", "PROJECT", "ENTITY", "DIR", "RUN_GROUP", "TAGS")


PATIENCE = 30.0  # seconds for W&B's own process to end


def end_service() -> None:
    """End W&B's process beside this one; it once never answered, which would hang all tests."""
    timer = threading.Timer(PATIENCE, _kill_services)
    timer.start()
    try:
        wandb.teardown()
    finally:
        timer.cancel()


def _kill_services() -> None:
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (process / "stat").read_text().rsplit(")", 1)[1].split()[1]
            if int(parent) == os.getpid() and b"wandb-core" in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)


@contextmanager
def without_account(home: Path) -> Iterator[pytest.MonkeyPatch]:
    """Change to an empty folder with no W&B key and no setting, in this process and below it."""
    home.mkdir(parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in (*FORGET, "API_KEY", "MODE", "BASE_URL"):
            patch.delenv(f"WANDB_{name}", raising=False)
        patch.setenv("HOME", str(home))
        patch.setenv("NETRC", str(home / "netrc"))
        patch.setenv("WANDB_ERROR_REPORTING", "false")
        patch.chdir(home)
        end_service()  # what this process knew of the environment
        try:
            yield patch
        finally:
            end_service()


@contextmanager
def serving(home: Path, strict: bool = True) -> Iterator[WandbServer]:
    """Serve this process and those it starts; afterwards no unknown operation may have come."""
    with without_account(home) as patch, WandbServer() as server:
        for name, value in server.env.items():
            patch.setenv(name, value)
        yield server
        end_service()
        assert not strict or server.unknown == []
