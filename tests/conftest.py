"""Fixtures of all tests; this file makes the folders beside it importable, e.g. `wandb_server`."""

import pytest


@pytest.fixture
def wandb_home(tmp_path):
    """An empty folder to work in, without any W&B key."""
    from wandb_server.tracked import without_account  # importing W&B takes a second

    with without_account(tmp_path / "home"):
        yield tmp_path / "home"


@pytest.fixture
def wandb_server(tmp_path):
    """A W&B server for this process and those it starts; it must know all that they ask."""
    from wandb_server.tracked import serving

    with serving(tmp_path / "home") as server:
        yield server
