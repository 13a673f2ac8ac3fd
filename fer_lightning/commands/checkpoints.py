"""Checkpoints to ask about single faces: named on the command line, or the package's own."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fer_lightning.commands.checkpoint_file import checkpoint_file
from fer_lightning.commands.explain import BATCH, class_names, readable
from fer_lightning.data.augment import to_float
from fer_lightning.data.readers.pictures import as_input
from fer_lightning.errors import UserError
from fer_lightning.look.controls.hiding import answers
from fer_lightning.models import VisionModel
from fer_lightning.models.shipped_weights import FOLDER, shipped
from fer_lightning.runs.find import find_runs
from fer_lightning.runs.folder import RunFolder
from fer_lightning.training.checkpoint import load_net

OWN = Path("flagship")  # the model that comes with the package and answers where none is given
RUNS = Path("runs")  # where `fit` leaves its runs


@dataclass(frozen=True)
class Checkpoint:
    """A model with what its checkpoint says of it."""

    name: str  # different from the others'
    path: Path
    net: VisionModel
    classes: list[str]
    about: dict[str, Any]

    @property
    def is_shipped(self) -> bool:
        """Whether it comes with the package."""
        return self.path.parent == FOLDER

    @property
    def trained_on(self) -> str:
        """The name of its data set."""
        return readable(str(self.about.get("data")))[:200]

    def images(self, faces: Sequence[NDArray[np.uint8]]) -> Tensor:
        """Bring square faces, grey (S, S) or RGB (S, S, 3), to its input, (N, C, H, W) floats."""
        _, channels, size, _ = self.net.input_shape()
        seen = np.stack([as_input(face, channels, size) for face in faces])
        return to_float(torch.from_numpy(seen)).to(next(self.net.parameters()).device)

    def probabilities(self, images: Tensor) -> Tensor:
        """Return the probability of each class, (N, K).

        Raises:
            UserError: the model answers with NaN or infinity.
        """
        logits = answers(self.net, images, BATCH)
        if not logits.isfinite().all():
            raise UserError(
                f"expected finite answers of {self.name} but got NaN or infinity; its training "
                "failed, use another checkpoint"
            )
        return logits.softmax(1)


def add_checkpoints(options: argparse.ArgumentParser, without: str) -> None:
    """Let a command take checkpoints; `without` says which answer where none is given."""
    options.add_argument(
        "--checkpoint",
        type=Path,
        action="extend",
        nargs="+",
        default=[],
        help=f"one or several, run folders, or names of shipped weights ({without})",
    )


def load_checkpoints(paths: Sequence[Path]) -> list[Checkpoint]:
    """Load checkpoints; without any, the model that comes with the package.

    Args:
        paths: checkpoints, names of shipped weights, or folders of runs, whose best is taken.

    Raises:
        UserError: there is none, or one is damaged.
    """
    files = [checkpoint_file(path) for path in paths or [OWN]]
    names = _names(files)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    found = []
    for name, path in zip(names, files, strict=True):
        net, about = load_net(path)
        found.append(Checkpoint(name, path, net.to(device), class_names(net, about), about))
    return found


def load_shipped_and_newest(most: int) -> list[Checkpoint]:
    """Load the models that come with the package, and the newest runs that know their classes."""
    others = [Path(name) for name in shipped() if name != OWN.name]
    own, *found = load_checkpoints([OWN, *others, *newest(RUNS, most)])
    return [own, *(one for one in found if one.classes == own.classes)]


def same_classes(checkpoints: Sequence[Checkpoint]) -> list[str]:
    """Return the classes that all checkpoints share.

    Raises:
        UserError: two differ.
    """
    first, *others = checkpoints
    for other in others:
        if other.classes != first.classes:
            one, two = (", ".join(c.classes)[:80] for c in (first, other))
            raise UserError(
                f"expected checkpoints of the same classes but {first.name} has {one} and "
                f"{other.name} has {two}; ask them one after the other"
            )
    return first.classes


def newest(root: Path, most: int) -> list[Path]:
    """Return the best checkpoints of the newest finished runs below a folder."""
    runs = [RunFolder(path) for path in (find_runs(root).values() if root.is_dir() else ())]
    done = [run for run in runs if run.complete and run.best_checkpoint.is_file()]
    done.sort(key=lambda run: run.summary.stat().st_mtime_ns, reverse=True)
    return [run.best_checkpoint for run in done[:most]]


def _names(files: Sequence[Path]) -> list[str]:
    """Name checkpoints by their run folder, or by their file; the second of a name gets a number.

    >>> _names([Path("runs/vit/checkpoints/best.ckpt"), Path("a/net.ckpt"), Path("b/net.ckpt")])
    ['vit', 'net', 'net-2']
    """
    found: list[str] = []
    for path in files:
        of_run = path.stem == "best" and path.parent.name == "checkpoints"
        name = readable(path.absolute().parents[1].name if of_run else path.stem)[:60] or "model"
        number, unique = 1, name
        while unique in found:
            number += 1
            unique = f"{name}-{number}"
        found.append(unique)
    return found
