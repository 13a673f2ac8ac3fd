"""A home of its own in which clients talk to one server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import wandb

from wandb_server.server import WandbServer

FORGET = ("RUN_ID", "SWEEP_ID", "SWEEP_PARAM_PATH", "PROJECT", "ENTITY", "DIR", "RUN_GROUP", "TAGS")


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
        wandb.teardown()  # what this process knew of the environment
        try:
            yield patch
        finally:
            wandb.teardown()


@contextmanager
def serving(home: Path, strict: bool = True) -> Iterator[WandbServer]:
    """Serve this process and those it starts; afterwards no unknown operation may have come."""
    with without_account(home) as patch, WandbServer() as server:
        for name, value in server.env.items():
            patch.setenv(name, value)
        yield server
        wandb.teardown()
        assert not strict or server.unknown == []
