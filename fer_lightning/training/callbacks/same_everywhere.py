"""Before the first step: whether all processes of a run, perhaps on several hosts, see the same."""

from pathlib import Path
from socket import gethostname
from typing import NamedTuple

import lightning as L
import torch.distributed as dist

from fer_lightning.errors import UserError
from fer_lightning.runs.folder import RunFolder
from fer_lightning.training.callbacks.typed import data_of


class Seen(NamedTuple):
    """What one process sees."""

    host: str  # its name
    fingerprint: str  # of its images
    folder_is_there: bool = True  # that of the run, as the first process calls it


class SameEverywhere(L.Callback):
    """Refuses to train on hosts with other images, or without the folder of the run.

    Every process reads its images itself, and at the end the best checkpoint from the folder. It
    had better not be noticed only then.

    Args:
        folder: of the run; the first process's counts.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Ask all processes and end all of them with the same sentence."""
        if trainer.world_size == 1 or not dist.is_initialized():
            return
        path = trainer.strategy.broadcast(str(self.folder.path.resolve()))
        there = stage != "fit" or Path(path).is_dir()
        fingerprint = data_of(trainer).image_set.fingerprint
        seen: list[Seen] = [Seen("", "")] * trainer.world_size
        dist.all_gather_object(seen, Seen(gethostname(), fingerprint, there))
        problem = difference(seen, path)
        if problem is not None:
            raise UserError(problem)


def difference(seen: list[Seen], folder: str) -> str | None:
    """Say what the first process has and another lacks, or None.

    >>> difference([Seen("one", "a1"), Seen("two", "a1")], "runs/x") is None
    True
    >>> print(difference([Seen("one", "a1"), Seen("two", "b2")], "runs/x"))  # doctest: +ELLIPSIS
    expected the images of one on every host but two has others (fingerprint b2, not a1); copy ...
    """
    first = seen[0]
    for one in seen[1:]:
        if one.fingerprint != first.fingerprint:
            return (
                f"expected the images of {first.host} on every host but {one.host} has others "
                f"(fingerprint {one.fingerprint}, not {first.fingerprint}); copy the same files "
                "there"
            )
        if not one.folder_is_there:
            return (
                f"expected the run folder {folder} on every host but {one.host} does not see it; "
                "choose a disk that all hosts share with --runs_dir"
            )
    return None
