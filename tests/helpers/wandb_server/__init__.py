"""A W&B server of a few hundred lines on 127.0.0.1, for the unmodified client.

It answers the operations that our commands cause, keeps what was sent, and notes every operation
that it does not know. Tests read `server.state`; the fixtures are in ``tests/conftest.py``.
"""

from wandb_server.server import KEY, WandbServer
from wandb_server.state import Artifact, Run, Sweep

__all__ = ["KEY", "Artifact", "Run", "Sweep", "WandbServer"]
