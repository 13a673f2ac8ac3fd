"""Reading the files of a run folder that may be damaged, hostile or of another version.

Nothing here imports torch, so that a report is rebuilt in seconds.
"""

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fer_lightning.errors import UserError


@dataclass(frozen=True)
class RunFile:
    """One artefact of a run folder.

    Args:
        name: of the file.
        about: what it holds.
        before: names that earlier versions gave it.
        remeasured: whether ``fer-lightning focus`` writes it, too, into ``controls/``.
    """

    name: str
    about: str
    before: tuple[str, ...] = ()
    remeasured: bool = False

    def find(self, folder: Path) -> Path | None:
        """The file in a run folder, measured again or as the run left it, or None."""
        places = (folder / CONTROLS, folder) if self.remeasured else (folder,)
        paths = (place / name for place in places for name in (self.name, *self.before))
        return next((path for path in paths if path.is_file()), None)


CONTROLS = "controls"  # folder with what ``fer-lightning focus`` measured
FILES = {
    "config": RunFile("config.yaml", "all options, usable as --config"),
    "run": RunFile("run.json", "how the run was started, on what and with which versions"),
    "cell": RunFile("cell.json", "which cell of a study it is"),
    "split": RunFile("split.json", "which image is in which part"),
    "metrics": RunFile("metrics.csv", "one row per epoch, columns as logged"),
    "summary": RunFile("summary.json", "the results; written last, so a run with it is complete"),
    "predictions": RunFile("predictions.npz", "row, label and logits of each test image"),
    "features": RunFile("features.npz", "features, t-SNE and pictures of some test images"),
    "maps": RunFile("maps.npz", "heat of the looked-at test images by method"),
    "focus": RunFile("focus.csv", "focus by region, method and null map", remeasured=True),
    "focus_samples": RunFile("focus_samples.csv", "focus of single images", remeasured=True),
    "focus_epochs": RunFile("focus_epochs.csv", "focus of validation images over epochs"),
    "hiding": RunFile(
        "hiding.csv", "what hiding regions costs", before=("occlusion.csv",), remeasured=True
    ),
    "randomisation": RunFile(
        "randomisation.csv", "how alike maps of a randomised model stay", remeasured=True
    ),
}
MAX_JSON = 8 << 20  # bytes; a summary takes 4 kB
MAX_CSV = 64 << 20  # bytes; focus_samples.csv takes 80 kB
MAX_ARRAYS = 512 << 20  # bytes after decompression; FER-2013's test logits take 100 kB


class Answers(NamedTuple):
    """Place i of each array belongs to the same test image; sorted by `row`."""

    row: NDArray[np.int64]  # (N,) of the image in its data set
    label: NDArray[np.int64]  # (N,)
    logits: NDArray[np.float32]  # (N, K)

    @property
    def predicted(self) -> NDArray[np.int64]:
        """The most probable class of each image, (N,)."""
        return self.logits.argmax(1)

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether each image is recognised, (N,)."""
        return self.predicted == self.label

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Softmax of the logits, (N, K)."""
        shifted = np.exp(self.logits.astype(np.float64) - self.logits.max(1, keepdims=True))
        return shifted / shifted.sum(1, keepdims=True)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds a mapping.

    Raises:
        UserError: it is missing, too large, no JSON, or no mapping.
    """
    try:
        content = json.loads(_read(path, MAX_JSON))
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"expected JSON in {path} but {str(error)[:100]}; copy the file again"
        ) from error
    if not isinstance(content, dict):
        raise UserError(
            f"expected a mapping in {path} but got {type(content).__name__}; copy the file again"
        )
    return content


def read_csv(path: Path) -> pd.DataFrame:
    """Read a CSV file with a header.

    Raises:
        UserError: it is missing, too large or no CSV.
    """
    try:
        return pd.read_csv(io.BytesIO(_read(path, MAX_CSV)))
    except (ValueError, pd.errors.ParserError) as error:  # also EmptyDataError, UnicodeDecodeError
        raise UserError(
            f"expected CSV in {path} but {str(error)[:100]}; copy the file again"
        ) from error


def read_predictions(path: Path) -> Answers:
    """Read ``predictions.npz``.

    Raises:
        UserError: it is missing, too large, or does not hold rows, labels and logits that fit.
    """
    data = _read(path, MAX_ARRAYS)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > MAX_ARRAYS:
            raise ValueError(f"it unpacks to {size:,} bytes")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            row = arrays["row" if "row" in arrays else "index"]  # its name in the first version
            label, logits = arrays["label"], arrays["logits"]
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(
            f"expected row, label and logits in {path} but {str(error)[:100]}; copy the file again"
        ) from error
    fits = row.ndim == label.ndim == 1 and logits.ndim == 2
    if not fits or not len(row) == len(label) == len(logits) or not logits.size:
        raise UserError(
            f"expected as many rows and labels as logits in {path} but got shapes {row.shape}, "
            f"{label.shape} and {logits.shape}; copy the file again"
        )
    if row.dtype.kind not in "iu" or label.dtype.kind not in "iu" or logits.dtype.kind != "f":
        raise UserError(f"expected numbers in {path} but got {row.dtype}, {logits.dtype}")
    order = np.argsort(row, kind="stable")
    return Answers(
        row[order].astype(np.int64), label[order].astype(np.int64), logits[order].astype(np.float32)
    )


def _read(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise UserError(f"expected a file at {path} but {error.strerror}; copy it again") from error
    if len(data) > limit:
        raise UserError(f"expected at most {limit:,} bytes in {path} but it has more; remove it")
    return data
