"""The pictures and features of a run folder, as the trackers were given them."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fer_lightning.tracking.projector import write_projector

MOST = 10  # epochs of one kind: TensorBoard shows no more
OF_TRAINING = ("weighting",)  # kinds of picture that show training images
NAMES = re.compile(r"epoch_(\d{1,6})\.png|test\.png")


class Picture(NamedTuple):
    """A picture and where it is shown."""

    name: str
    epoch: int
    path: Path


def find_pictures(run: Path, after: int) -> list[Picture]:
    """Return ``<kind>/epoch_*.png`` and ``<kind>/test.png``, of many epochs some evenly chosen.

    Args:
        run: the folder.
        after: epoch that test pictures are shown at.
    """
    found: list[Picture] = []
    for kind in sorted({path.parent for path in run.glob("*/*.png")}):
        stage = "train" if kind.name in OF_TRAINING else "val"
        of_kind = []
        for path in sorted(kind.glob("*.png")):
            match = NAMES.fullmatch(path.name)
            if match and match[1]:
                of_kind.append(Picture(f"{stage}/{kind.name}", int(match[1]), path))
            elif match:
                found.append(Picture(f"test/{kind.name}", after, path))
        places = np.linspace(0, len(of_kind) - 1, min(MOST, len(of_kind))).round().astype(int)
        found += [of_kind[place] for place in places]
    return found


def show_features(run: Path, out: Path, classes: list[str]) -> str:
    """Write ``features.npz`` for the projector; return a sentence where it cannot be read."""
    path = run / "features.npz"
    if not path.is_file():
        return ""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            features, faces, label = (arrays[name] for name in ("features", "faces", "label"))
        _check(features, faces, label)
        labels = [classes[i] if i < len(classes) else f"class {i}" for i in label.tolist()]
        write_projector(out, "test/features", features, labels, faces)
    except Exception as error:  # damaged in whatever way: a zip file has many
        return f"{path}: {type(error).__name__}: {str(error)[:80]}; it is left out"
    return ""


def _check(features: Any, faces: Any, label: Any) -> None:
    if not (features.ndim == 2 and faces.ndim == 4 and label.ndim == 1 and len(label)):
        raise ValueError(f"shapes {features.shape}, {faces.shape} and {label.shape}")
    if not len(features) == len(faces) == len(label) or faces.dtype != np.uint8:
        raise ValueError(f"{len(features)} features, {len(faces)} faces and {len(label)} labels")
