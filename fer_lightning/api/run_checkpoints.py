"""The checkpoints of a run: what is kept, written so that a kill at any time leaves a whole one.

Lightning writes a checkpoint into the temporary folder and moves it; onto another file system that
is a copy over the old file, of which a kill leaves nothing. And it keeps the absolute path, so that
a run folder that was moved forgets its best score.
"""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins import TorchCheckpointIO
from lightning.pytorch.callbacks import ModelCheckpoint

from fer_lightning import keys
from fer_lightning.errors import UserError
from fer_lightning.keys import key
from fer_lightning.models import VisionModel
from fer_lightning.runs.folder import RunFolder
from fer_lightning.training.checkpoint import check_description, read_checkpoint


def checkpointing(folder: RunFolder) -> list[ModelCheckpoint]:
    """Keep the best epoch by validation accuracy, and the last one to go on from."""
    where: dict[str, Any] = {"dirpath": folder.checkpoints, "enable_version_counter": False}
    best = ModelCheckpoint(filename="best", monitor=key("val", keys.ACC), mode="max", **where)
    return [best, ModelCheckpoint(filename="last", **where)]


def newest_whole(folder: RunFolder, net: VisionModel, say: Callable[[str], None]) -> Path | None:
    """Find the checkpoint to go on from, and say so where it is not the last one.

    Args:
        folder: of the run.
        net: the model that the checkpoint must be of.
        say: gets the sentence.

    Returns:
        None where there is no checkpoint yet.

    Raises:
        UserError: none of those that are there is whole, or the checkpoint is of another model.
    """
    damaged: list[str] = []
    for path in folder.resumable:
        try:
            checkpoint = read_checkpoint(path)
        except UserError as error:
            damaged.append(str(error))
            continue
        check_description(checkpoint, net)
        if path != folder.last_checkpoint:
            state = "is damaged" if damaged else "is missing"
            say(
                f"{folder.last_checkpoint.name} {state}: this run goes on from {path.name}, "
                f"which was written after epoch {checkpoint['epoch'] + 1}"
            )
        return path
    if damaged:
        raise UserError(
            f"{damaged[0]}, and there is none before it; remove {folder.checkpoints} to train "
            "from the beginning"
        )
    return None


class RunCheckpointIO(TorchCheckpointIO):
    """Writes beside the target and renames, keeps the predecessor of the last checkpoint.

    Args:
        folder: of the run.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.state_key = checkpointing(folder)[0].state_key
        self.resumed_from: str | None = None

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        """Write a file that is whole or not there, also after a loss of power."""
        if "://" in str(path):  # not on this machine
            super().save_checkpoint(checkpoint, path, storage_options)
            return
        target = Path(path)
        if self.folder.path.is_dir():  # otherwise it was removed, and stays so
            target.parent.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        torch.save(checkpoint, content)
        if _same(target, self.folder.last_checkpoint):
            self._keep_predecessor()
        write_whole(target, content.getbuffer())

    def _keep_predecessor(self) -> None:
        """Give the last checkpoint a second name, which remains when it is replaced.

        Where the run went on from that second one, the last one is damaged.
        """
        last, previous = self.folder.last_checkpoint, self.folder.previous_checkpoint
        resumed_from, self.resumed_from = self.resumed_from, None
        if not last.is_file() or (resumed_from and _same(resumed_from, previous)):
            return
        link = previous.with_name(f".{previous.name}.part")
        link.unlink(missing_ok=True)
        try:
            link.hardlink_to(last)
        except OSError:  # a file system without links
            last.replace(previous)
        else:
            link.replace(previous)

    def load_checkpoint(
        self, path: str | Path, map_location: Any = "cpu", weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Read a checkpoint, its paths as if the folder had always been where it is now."""
        self.resumed_from = str(path)
        checkpoint = super().load_checkpoint(path, map_location, weights_only)
        states = checkpoint.get("callbacks", {})
        if self.state_key in states:
            before = Path(states[self.state_key]["dirpath"]).parent
            now = Path(os.path.realpath(path)).parent.parent
            checkpoint["callbacks"] = moved(states, str(before), str(now))
        return checkpoint


def _same(one: str | Path, other: str | Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def moved(value: Any, before: str, now: str) -> Any:
    """Replace a folder in all paths of a callback's state.

    >>> moved({"dirpath": "/a/run", "best": {"/a/run/b": 1}, "n": "/a/runs"}, "/a/run", "/c")
    {'dirpath': '/c', 'best': {'/c/b': 1}, 'n': '/a/runs'}
    """
    if isinstance(value, dict):
        return {moved(k, before, now): moved(v, before, now) for k, v in value.items()}
    if isinstance(value, str) and (value == before or value.startswith(before + os.sep)):
        return now + value[len(before) :]
    return value


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Write a file beside its place, wait until it is on the disk, and rename it.

    What a kill leaves of it has one name, which the next attempt uses again.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
