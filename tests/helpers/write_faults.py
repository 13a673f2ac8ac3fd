"""A process that dies, or finds the disk full, at its n-th write into a folder."""

import builtins
import errno
import io
import os

import torch

NO_ROOM = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
WRITING = os.O_WRONLY | os.O_RDWR


def dies():
    """End the process at once, as the loss of power would."""
    os._exit(DIED)


def full():
    """Fail as on a full disk."""
    raise NO_ROOM


DIED = 77  # exit code


def weights(folder):
    """Every number of the models in both checkpoints of a run."""
    found = {}
    for name in ("best", "last"):
        state = torch.load(folder / "checkpoints" / f"{name}.ckpt", weights_only=True)["state_dict"]
        found |= {f"{name} {key}": value.numpy().tobytes() for key, value in state.items()}
    return found


class Writes:
    """Counts what opens a file for writing or renames one, in or below a folder.

    Args:
        folder: other writes are neither counted nor disturbed.
        number: from this write on `act` is called before each.
        act: what happens then; nothing without it.
    """

    def __init__(self, folder, number=0, act=None):
        self.folder, self.number, self.act, self.count = str(folder), number, act, 0

    def __enter__(self):
        """Put the trap into the functions that everything is written with."""
        self.before = {"open": os.open, "replace": os.replace, "rename": os.rename}
        self.io_open = io.open
        os.open = self._trapped(os.open, lambda path, flags, *_, **__: flags & WRITING)
        os.replace, os.rename = (self._trapped(call) for call in (os.replace, os.rename))
        opened = self._trapped(io.open, lambda _, mode="r", *__, **___: set(mode) & set("wax+"))
        io.open = builtins.open = opened
        return self

    def __exit__(self, *_):
        """Put the functions back."""
        for name, call in self.before.items():
            setattr(os, name, call)
        io.open = builtins.open = self.io_open

    def _trapped(self, call, writes=lambda *_, **__: True):
        def wrapper(path, *args, **kwargs):
            inside = not isinstance(path, int) and os.fsdecode(path).startswith(self.folder)
            if inside and writes(path, *args, **kwargs):
                self.count += 1
                if self.act is not None and self.count >= self.number:
                    self.act()
            return call(path, *args, **kwargs)

        return wrapper
