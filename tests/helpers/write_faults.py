"""A process that dies, or finds the disk full, at its n-th write into a folder."""

import builtins
import errno
import io
import os
from pathlib import Path

import torch

WRITING = os.O_WRONLY | os.O_RDWR
DIED = 77  # exit code


def dies():
    """End the process at once, as the loss of power would."""
    os._exit(DIED)


def full():
    """Fail as on a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def weights(folder):
    """Every number of the models in both checkpoints of a run."""
    found = {}
    for name in ("best", "last"):
        state = torch.load(folder / "checkpoints" / f"{name}.ckpt", weights_only=True)["state_dict"]
        found |= {f"{name} {key}": value.numpy().tobytes() for key, value in state.items()}
    return found


class Writes:
    """Counts what changes anything in or below a folder, as often as the system is asked to.

    Counted are the making, opening, filling, syncing, linking, renaming and removal of files, and
    the making and removal of folders.

    Args:
        folder: other writes are neither counted nor disturbed.
        number: from this write on `act` is called before each.
        act: what happens then; nothing without it.
    """

    CALLS = ("replace", "rename", "link", "mkdir", "fsync", "unlink", "remove", "rmdir")
    FREE = ("unlink", "remove", "rmdir")  # need no room on a disk

    def __init__(self, folder, number=0, act=None):
        self.folder, self.number, self.act, self.count = str(folder), number, act, 0

    def __enter__(self):
        """Put the trap into the functions that everything is written with."""
        self.before = {name: getattr(os, name) for name in ("open", *self.CALLS)}
        self.io_open = io.open
        for name in self.CALLS:
            setattr(os, name, self._trapped(self.before[name], name in self.FREE))
        os.open, io.open = self._os_open, self._io_open
        builtins.open = self._io_open
        return self

    def __exit__(self, *_):
        """Put the functions back."""
        for name, call in self.before.items():
            setattr(os, name, call)
        io.open = builtins.open = self.io_open

    def _inside(self, path):
        if isinstance(path, int):
            path = Path(f"/proc/self/fd/{path}").readlink()
        return os.fsdecode(path).startswith(self.folder)

    def _disturbed(self, free=False):
        """Count a write; return whether something happens to it."""
        self.count += 1
        return self.act and self.count >= self.number and not (free and self.act is full)

    def _trapped(self, call, free):
        def wrapper(path, *args, **kwargs):
            if self._inside(path) and self._disturbed(free):
                self.act()
            return call(path, *args, **kwargs)

        return wrapper

    def _os_open(self, path, flags, *args, **kwargs):
        if flags & WRITING and self._inside(path) and self._disturbed():
            self.act()
        return self.before["open"](path, flags, *args, **kwargs)

    def _io_open(self, path, mode="r", buffering=-1, encoding=None, *args, **kwargs):
        if not set(mode) & set("wax+") or not self._inside(path):
            return self.io_open(path, mode, buffering, encoding, *args, **kwargs)
        if not isinstance(path, int) and self._disturbed():
            self.act()
        raw = TornFile(path, mode.replace("b", "").replace("t", ""))
        raw.writes = self
        file = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return file if "b" in mode else io.TextIOWrapper(file, encoding, *args, **kwargs)


class TornFile(io.FileIO):
    """A file of which every part that goes to the disk is counted; of a disturbed one half does."""

    def write(self, data):
        if self.writes._disturbed():
            super().write(data[: len(data) // 2])
            self.writes.act()
        return super().write(data)
