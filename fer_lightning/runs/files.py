"""Every artefact of a run folder, once: its name, what it holds, how it is read and written.

Files may be damaged, hostile or of another version; a reader then raises a `UserError`. Nothing
here imports torch, so that a report is rebuilt in seconds.
"""

import csv
import io
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fer_lightning.arrays import read_npz
from fer_lightning.errors import UserError
from fer_lightning.keys import EPOCH
from fer_lightning.schema import read_mapping

if TYPE_CHECKING:
    import pandas as pd  # slow to import: a training needs none

T = TypeVar("T")
Arrays = dict[str, NDArray[Any]]
CONTROLS = "controls"  # folder with what ``fer-lightning focus`` measured
PAPER_METHOD = "grad_cam"  # of tables and maps that name no method
# what callbacks, `focus` and studies use unless told otherwise: the paper's, and a cheap second
# one that needs no feature maps
DEFAULT_METHODS = (PAPER_METHOD, "gradient")
RENAMED = {"lsi": "lsi_key", "background": "background_share"}  # of a fit's to a focus's columns
PICTURE = re.compile(r"epoch_(\d{1,6})\.png|test\.png")  # in a folder per kind of picture
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


class Embedding(NamedTuple):
    """Features of some test images; place i of each array belongs to the same image."""

    row: NDArray[np.int64]  # (N,) of the image in its data set
    label: NDArray[np.int64]  # (N,)
    features: NDArray[np.float32]  # (N, D)
    points: NDArray[np.float32]  # (N, 2) their t-SNE
    faces: NDArray[np.uint8] | None  # (N, H, W) or (N, H, W, 3); None in runs that kept none


class Maps(NamedTuple):
    """Heat of some test images."""

    row: NDArray[np.int64]  # (M,)
    heat: NDArray[np.float32]  # (M, H, W) from 0 to 1, by `method`
    method: str = PAPER_METHOD
    others: Mapping[str, NDArray[np.float32]] = {}  # (M, H, W) by the name of another method


class Metrics(NamedTuple):
    """What was logged, epoch by epoch."""

    rows: dict[int, dict[str, float]]  # epoch → name as logged → number
    damage: str = ""  # a sentence on lines that were left out

    @property
    def table(self) -> "pd.DataFrame":
        """One row per epoch; NaN where nothing was logged."""
        import pandas as pd

        return pd.DataFrame([{EPOCH: epoch, **row} for epoch, row in self.rows.items()])


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds a mapping.

    Raises:
        UserError: it is missing, too large, no JSON, or no mapping.
    """
    try:
        content = json.loads(_read(path, MAX_JSON))
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "JSON", str(error)[:100]) from error
    if not isinstance(content, dict):
        raise _damaged(path, "a mapping", f"got {type(content).__name__}")
    return content


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file atomically."""
    with atomic(path) as file:
        json.dump(content, file, indent=1)


def read_config(path: Path) -> dict[str, Any]:
    """Read ``config.yaml``: every option of a run.

    Raises:
        UserError: it is missing, too large, no YAML, or no mapping.
    """
    return read_mapping(path, "the config.yaml of another run")


def read_csv(path: Path) -> "pd.DataFrame":
    """Read a CSV file with a header.

    Raises:
        UserError: it is missing, too large or no CSV.
    """
    import pandas as pd

    try:
        table = pd.read_csv(io.BytesIO(_read(path, MAX_CSV)))
    except (ValueError, pd.errors.ParserError) as error:  # also EmptyDataError, UnicodeDecodeError
        raise _damaged(path, "CSV", str(error)[:100]) from error
    if not isinstance(table.index, pd.RangeIndex):  # taken from cells that have no name
        raise _damaged(path, "CSV", f"its lines have more than {len(table.columns)} cells")
    return table


def read_focus(path: Path) -> "pd.DataFrame":
    """Read a focus table; rows of older versions, which name no method, are the paper's."""
    table = read_csv(path)
    if len(table) and "method" not in table:
        table.insert(0, "method", PAPER_METHOD)
    return table


def read_focus_samples(path: Path) -> "pd.DataFrame":
    """Read the focus of single images; a fit's table has other names and one resolution."""
    table = read_focus(path)
    if len(table) and "resolution" not in table:
        table = table.rename(columns=RENAMED).assign(resolution="native")
    return table


def read_metrics(path: Path, strict: bool = False) -> Metrics:
    r"""Read ``metrics.csv``; a file that is not there yet holds nothing.

    Args:
        path: of the file.
        strict: refuse a damaged file; otherwise damaged lines are left out and named in `damage`.

    Raises:
        UserError: it is too large or cannot be read, or a line is damaged and `strict`.

    >>> with tempfile.TemporaryDirectory() as place:
    ...     file = Path(place, "metrics.csv")
    ...     _ = file.write_text("epoch,val/acc\n0,0.5\n1,oops\n2,\n")
    ...     rows, damage = read_metrics(file)
    >>> rows
    {0: {'val/acc': 0.5}, 2: {}}
    >>> damage.split("metrics.csv, ")[1]
    "line 3: expected numbers but could not convert string to float: 'oops'; it is left out"
    """
    text = _read(path, MAX_CSV).decode(errors="replace") if path.exists() else ""
    rows: dict[int, dict[str, float]] = {}
    damaged: list[str] = []
    lines = csv.reader(text.replace("\0", "").splitlines())
    names = next(lines, [])
    for cells in lines:
        try:
            if len(cells) != len(names):
                raise ValueError(f"got {len(cells)} of {len(names)} columns")
            row = {k: float(v) for k, v in zip(names, cells, strict=True) if v}
            rows[int(row.pop(EPOCH))] = row
        except (ValueError, OverflowError, KeyError, csv.Error) as error:
            why = "there is no epoch" if isinstance(error, KeyError) else str(error)[:80]
            damaged.append(f"{path}, line {lines.line_num}: expected numbers but {why}")
    if damaged and strict:
        raise UserError(f"{damaged[0]}; mend or remove the line")
    more = f", as are {len(damaged) - 1} more" if len(damaged) > 1 else ""
    return Metrics(rows, f"{damaged[0]}; it is left out{more}" if damaged else "")


def write_metrics(path: Path, rows: Mapping[int, Mapping[str, float]]) -> None:
    """Write ``metrics.csv`` atomically: one row per epoch, the epoch first, then names in order."""
    names = sorted({name for row in rows.values() for name in row} - {EPOCH})
    with atomic(path) as file:
        writer = csv.DictWriter(file, [EPOCH, *names], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**rows[epoch], EPOCH: epoch} for epoch in sorted(rows))


def read_arrays(path: Path, needed: Sequence[str], others: str = "$^") -> Arrays:
    """Read arrays of numbers, with a limit to what they may unpack to.

    Raises:
        UserError: too large, no such file, no arrays, or one is missing.
    """
    try:
        found = read_npz(
            _read(path, MAX_ARRAYS),
            lambda name: name in needed or bool(re.fullmatch(others, name)),
            MAX_ARRAYS,
        )
        if missing := [name for name in needed if name not in found]:
            raise ValueError(f"there is no {missing[0]}")
    except UserError:
        raise
    except ValueError as error:
        raise _damaged(path, ", ".join(needed), str(error)[:100]) from error
    for name, array in found.items():
        if array.dtype.kind not in ("U" if name == "method" else "iufb"):
            raise _damaged(path, "numbers", f"got {name} of type {array.dtype}")
    return found


def write_arrays(path: Path, **arrays: Any) -> None:
    """Write an ``.npz`` file atomically."""
    with atomic(path, "wb") as file:
        np.savez_compressed(file, **arrays)


def read_predictions(path: Path) -> Answers:
    """Read ``predictions.npz``; the rows were called ``index`` in the first version."""
    found = read_arrays(path, ("label", "logits"), "row|index")
    row = found.get("row", found.get("index", np.zeros(0)))
    label, logits = found["label"], found["logits"]
    fits = row.shape == label.shape == logits.shape[:1] and logits.ndim == 2 and logits.size
    kinds = row.dtype.kind + label.dtype.kind + logits.dtype.kind
    if not fits or not re.fullmatch("[iu][iu]f", kinds):
        raise _unfit(path, {"row": row, "label": label, "logits": logits})
    order = np.argsort(row, kind="stable")
    return Answers(
        row[order].astype(np.int64), label[order].astype(np.int64), logits[order].astype(np.float32)
    )


class NearTwins(NamedTuple):
    """Which test images show a photograph that was trained on, identical or nearly so."""

    fingerprint: str  # of the data set
    row: NDArray[np.int64]  # sorted


def read_near_twins(path: Path) -> NearTwins:
    """Read ``near_twins.json``, or what ``split.json`` says of near-twins.

    Raises:
        UserError: it is damaged.
    """
    content = read_json(path)
    rows = content.get("near_twins")
    if not isinstance(rows, list) or not all(type(row) is int and row >= 0 for row in rows):
        raise _damaged(path, "rows of images under near_twins", f"got {rows!r:.40}")
    try:
        return NearTwins(str(content.get("fingerprint")), np.unique(np.array(rows, np.int64)))
    except OverflowError as error:
        raise _damaged(path, "rows of images under near_twins", str(error)) from error


def write_near_twins(path: Path, found: NearTwins) -> None:
    """Write ``near_twins.json`` atomically."""
    write_json(path, {"fingerprint": found.fingerprint, "near_twins": found.row.tolist()})


def read_features(path: Path) -> Embedding:
    """Read ``features.npz``; faces are stored as (N, C, H, W)."""
    found = read_arrays(path, ("row", "label", "features", "points"), "faces")
    row, label, features, points = (found[n] for n in ("row", "label", "features", "points"))
    N, faces = len(row), found.get("faces")
    fits = row.shape == label.shape == (N,) and points.shape == (N, 2) and features.ndim == 2
    if faces is not None:
        fits &= faces.ndim == 4 and len(faces) == N and faces.shape[1] in (1, 3)
    if not fits or len(features) != N or row.dtype.kind not in "iu":
        raise _unfit(path, found)
    if faces is not None:
        faces = faces[:, 0] if faces.shape[1] == 1 else faces.transpose(0, 2, 3, 1)
        faces = np.ascontiguousarray(faces, np.uint8)
    return Embedding(
        row.astype(np.int64),
        label.astype(np.int64),
        features.astype(np.float32),
        points.astype(np.float32),
        faces,
    )


def read_maps(path: Path) -> Maps:
    """Read ``maps.npz``: ``heat`` of the method that was drawn, ``heat_<method>`` of others."""
    found = read_arrays(path, ("row", "heat"), r"method|heat_\w+")
    row = found.pop("row")
    method = str(found.pop("method", np.array(PAPER_METHOD)))
    for heat in found.values():
        if row.ndim != 1 or heat.ndim != 3 or len(heat) != len(row) or row.dtype.kind not in "iu":
            raise _unfit(path, {"row": row} | found)
    heat = found.pop("heat").astype(np.float32)
    others = {k.removeprefix("heat_"): v.astype(np.float32) for k, v in found.items()}
    return Maps(row.astype(np.int64), heat, method, others)


@dataclass(frozen=True)
class RunFile:
    """One artefact of a run folder.

    Args:
        name: of the file or folder.
        about: what it holds.
        reader: what reads it; None where another program or torch does.
        before: names that earlier versions gave it.
        remeasured: whether ``fer-lightning focus`` writes it, too, into ``controls/``.
    """

    name: str
    about: str
    reader: Callable[[Path], Any] | None = None
    before: tuple[str, ...] = ()
    remeasured: bool = False

    def find(self, folder: Path) -> Path | None:
        """The file in a run folder, measured again or as the run left it, or None."""
        places = (folder / CONTROLS, folder) if self.remeasured else (folder,)
        paths = (place / name for place in places for name in (self.name, *self.before))
        return next((path for path in paths if path.is_file()), None)

    def read(self, folder: Path) -> Any:
        """What the file in a run folder holds; None without a file.

        Raises:
            UserError: it is damaged.
        """
        path = self.find(folder)
        return None if path is None or self.reader is None else self.reader(path)


FILES = {
    "config": RunFile("config.yaml", "all options, usable as --config", read_config),
    "run": RunFile("run.json", "how, when and on what the run was started", read_json),
    "cell": RunFile("cell.json", "which cell of a study it is", read_json),
    "split": RunFile("split.json", "which image is in which part", read_json),
    "near_twins": RunFile(
        "near_twins.json", "test images whose photograph was trained on", read_near_twins
    ),
    "metrics": RunFile("metrics.csv", "one row per epoch, columns as logged", read_metrics),
    "summary": RunFile("summary.json", "results; written last: the run is complete", read_json),
    "hashes": RunFile("hashes.json", "a hash of each finished file, for check", read_json),
    "predictions": RunFile("predictions.npz", "logits of the test images", read_predictions),
    "answers": RunFile("predictions.csv", "what predict writes: a line per image", read_csv),
    "features": RunFile("features.npz", "features and t-SNE of some test images", read_features),
    "maps": RunFile("maps.npz", "heat of the looked-at test images by method", read_maps),
    "focus": RunFile("focus.csv", "focus by region, method and null map", read_focus, (), True),
    "focus_samples": RunFile(
        "focus_samples.csv", "focus of single images", read_focus_samples, (), True
    ),
    "focus_epochs": RunFile(
        "focus_epochs.csv", "focus of validation images over epochs", read_focus
    ),
    "hiding": RunFile(
        "hiding.csv", "what hiding regions costs", read_focus, ("occlusion.csv",), True
    ),
    "randomisation": RunFile(
        "randomisation.csv", "how alike maps of a randomised model stay", read_focus, (), True
    ),
    "left_out": RunFile("left_out.json", "methods that focus could not measure", read_json),
    "checkpoints": RunFile("checkpoints", "best.ckpt and last.ckpt"),
    "tensorboard": RunFile("tensorboard", "TensorBoard's event files"),
    "wandb": RunFile("wandb", "W&B's own files, to be synced later"),
    "report": RunFile("report.html", "the run on one page"),
    "log": RunFile("log.txt", "what the training of a study's cell printed"),
    "failed": RunFile("failed.json", "that it ended with an error", read_json),
    "lock": RunFile("lock", "held while a process trains in the folder"),
}


def known_file(path: Path) -> str | None:
    """Name the artefact of `FILES` that something in a run folder is, or "pictures", or None.

    >>> known_file(Path("run/metrics.csv")), known_file(Path("run/notes.txt"))
    ('metrics', None)
    """
    for key, file in FILES.items():
        if path.name in (file.name, *file.before):
            return key
    pictures = path.is_dir() and all(PICTURE.fullmatch(child.name) for child in path.iterdir())
    return "pictures" if pictures else None


def if_readable(read: Callable[[Path], T], path: Path) -> tuple[T | None, str]:
    """Return what a reader finds, or None and why; a file that is not there needs no reason."""
    try:
        return (read(path) if path.exists() else None), ""
    except UserError as error:
        return None, f"left out: {error}"


@contextmanager
def atomic(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file that appears under its name only when it was written completely.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "a.txt")
    ...     with atomic(target) as file:
    ...         _ = file.write("x")
    ...         existed = target.exists()
    ...     existed, target.read_text()
    (False, 'x')
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, mode) as file:
            yield file
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _read(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise UserError(f"expected a file at {path} but {error.strerror}; copy it again") from error
    if len(data) > limit:
        raise UserError(f"expected at most {limit:,} bytes in {path} but it has more; remove it")
    return data


def _damaged(path: Path, expected: str, found: str) -> UserError:
    return UserError(f"expected {expected} in {path} but {found}; copy the file again")


def _unfit(path: Path, arrays: Mapping[str, NDArray[Any]]) -> UserError:
    shapes = ", ".join(f"{name} {array.dtype}{array.shape}" for name, array in arrays.items())
    return _damaged(path, "arrays that fit each other", f"got {shapes}")
