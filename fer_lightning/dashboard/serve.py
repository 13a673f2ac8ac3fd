"""Starts TensorBoard on this machine alone."""

import contextlib
import io
import logging
from pathlib import Path

from tensorboard import program

from fer_lightning.dashboard.plugins import plugins
from fer_lightning.errors import UserError

HOST = "127.0.0.1"
LARGEST_PORT = 65535
RELOAD = 5.0  # seconds between looks for new events


def serve(logdir: Path, port: int | None) -> str:
    """Serve a folder of event files until the process ends.

    Args:
        logdir: folder with one folder a run.
        port: of the address; None takes 6006, or the next one that is free.

    Returns:
        The address.

    Raises:
        UserError: the port is no port or is not free.
    """
    if port is not None and not 0 <= port <= LARGEST_PORT:
        raise UserError(f"expected a port from 0 to {LARGEST_PORT} but got {port}")
    for name in ("tensorboard", "werkzeug"):
        logging.getLogger(name).setLevel(logging.ERROR)
    page = program.TensorBoard(plugins=plugins())
    page.configure(
        argv=["tensorboard"], logdir=str(logdir), host=HOST, port=port, reload_interval=RELOAD
    )
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # notes on its own workings
            return str(page.launch()).replace("localhost", HOST)
    except program.TensorBoardServerException as error:
        raise UserError(
            f"expected port {port or 'from 6006 on'} to be free but it cannot be used "
            f"({' '.join(str(error.msg).split())[:100]}); choose another --port, or leave it out"
        ) from error
