"""Fixtures of all tests; this file makes the folders beside it importable, e.g. `wandb_server`."""

from collections import Counter
from pathlib import Path

import pytest


def pytest_configure(config):
    """Refuse two test files of one name, which pytest cannot tell apart in a run of all tests."""
    names = Counter(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    if twice := sorted(name for name, count in names.items() if count > 1):
        raise pytest.UsageError(f"expected test files with names of their own but got {twice}")


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
