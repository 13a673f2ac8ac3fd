"""Locks of the kernel's: none is ever stale, however its holder ended."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from fer_lightning.errors import UserError


@contextmanager
def only_one(path: Path, what: str) -> Iterator[None]:
    """Hold a lock file for as long as this process lives, however it ends.

    The lock is the kernel's, so none is ever stale; the file only says who holds it.

    Raises:
        UserError: another process holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        if not try_lock(file):
            file.seek(0)
            raise UserError(
                f"expected to be the only {what} in {path.parent} but process "
                f"{file.read(100).strip() or 'unknown'} is at work there; wait for it or stop it"
            )
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def try_lock(file: IO[str]) -> bool:
    """Lock a file unless another process has; a child that inherits the file shares the lock.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w+") as one, open(one.name) as other:
    ...     try_lock(one), try_lock(other)
    (True, False)
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
