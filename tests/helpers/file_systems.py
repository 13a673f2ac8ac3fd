"""Folders on another file system than the temporary folder: where a move is a copy."""

import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder, size):
    """Mount a small file system in memory.

    Raises:
        OSError: this user cannot.
    """
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        raise OSError(error.stderr) from error
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def another(folder):
    """Give a folder on another file system: mounted below this one, or in shared memory.

    Skips the test where there is none.
    """
    with ExitStack() as stack:
        try:
            place = stack.enter_context(mounted(folder / "mounted", "8m"))
        except OSError:
            shared, here = Path("/dev/shm"), Path(tempfile.gettempdir())
            if not shared.is_dir() or shared.stat().st_dev == here.stat().st_dev:
                pytest.skip("this user cannot mount a file system, and there is no second one")
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=shared)))
        yield place
