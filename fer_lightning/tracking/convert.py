"""Event files of a run that has none: from metrics.csv, summary.json and the pictures."""

import csv
import json
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.record_writer import RecordWriter

from fer_lightning import keys
from fer_lightning.keys import FOCUS_TABLE, key
from fer_lightning.runs.folder import RunFolder
from fer_lightning.tracking.events import (
    Value,
    as_text,
    best_accuracy,
    hyperparameters,
    options_summaries,
    picture_summary,
    restart_event,
    scalar_event,
    text_summary,
    write_projector,
)

MOST = 10  # epochs of one kind: TensorBoard shows no more
OF_TRAINING = ("weighting",)  # kinds of picture that show training images
NAMES = re.compile(r"epoch_(\d{1,6})\.png|test\.png")
MAX_BYTES = 64 << 20  # of a file; metrics.csv takes 100 kB
OF_TEST = (keys.ACC, keys.MACRO_F1, keys.ECE, keys.ECE_FLOOR)
Numbers = dict[str, float]


class _Picture(NamedTuple):
    """A picture and where it is shown."""

    name: str
    epoch: int
    path: Path


def _find_pictures(run: Path, after: int) -> list[_Picture]:
    """Return ``<kind>/epoch_*.png`` and ``<kind>/test.png``, of many epochs some evenly chosen."""
    found: list[_Picture] = []
    for kind in sorted({path.parent for path in run.glob("*/*.png")}):
        stage = "train" if kind.name in OF_TRAINING else "val"
        of_kind = []
        for path in sorted(kind.glob("*.png")):
            match = NAMES.fullmatch(path.name)
            if match and match[1]:
                of_kind.append(_Picture(f"{stage}/{kind.name}", int(match[1]), path))
            elif match:
                found.append(_Picture(f"test/{kind.name}", after, path))
        places = np.linspace(0, len(of_kind) - 1, min(MOST, len(of_kind))).round().astype(int)
        found += [of_kind[place] for place in places]
    return found


def _show_features(run: Path, out: Path, classes: list[str]) -> str:
    """Write ``features.npz`` for the projector; return a sentence where it cannot be read."""
    path = run / "features.npz"
    if not path.is_file():
        return ""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            features, faces, label = (arrays[name] for name in ("features", "faces", "label"))
        if not (features.ndim == 2 and faces.ndim == 4 and label.ndim == 1 and len(label)):
            raise ValueError(f"shapes {features.shape}, {faces.shape} and {label.shape}")
        counts = len(features), len(faces), len(label)
        if len({*counts}) > 1 or faces.dtype != np.uint8:
            raise ValueError("{} features, {} faces and {} labels".format(*counts))
        labels = [classes[i] if i < len(classes) else f"class {i}" for i in label.tolist()]
        write_projector(out, "test/features", features, labels, faces)
    except Exception as error:  # damaged in whatever way: a zip file has many
        return f"{path}: {type(error).__name__}: {str(error)[:80]}; it is left out"
    return ""


def read_metrics(path: Path) -> tuple[dict[int, Numbers], str]:
    """Read the numbers of each epoch; damaged lines are left out and reported."""
    text, problem = _read(path)
    rows: dict[int, Numbers] = {}
    damaged: list[str] = []
    lines = csv.reader(text.replace("\0", "").splitlines())
    names = next(lines, [])
    for cells in lines:
        try:
            if len(cells) != len(names):
                raise ValueError(f"got {len(cells)} of {len(names)} columns")
            row = {k: float(v) for k, v in zip(names, cells, strict=True) if v}
            rows[int(row.pop(keys.EPOCH))] = row
        except (ValueError, OverflowError, KeyError, csv.Error) as error:
            why = "there is no epoch" if isinstance(error, KeyError) else str(error)[:80]
            damaged.append(f"line {lines.line_num}: expected numbers but {why}")
    if damaged:
        more = f", as are {len(damaged) - 1} more" if len(damaged) > 1 else ""
        problem = f"{path}, {damaged[0]}; it is left out{more}"
    return rows, problem


def _read_table(path: Path) -> tuple[list[str], list[list[Any]], str]:
    """Read the columns and rows of a table, numbers as such; nothing where it is damaged."""
    text, problem = _read(path)
    try:
        columns, *rows = csv.reader(text.splitlines())
    except (ValueError, csv.Error):
        return [], [], problem
    if any(len(row) != len(columns) for row in rows):
        return [], [], f"{path}: expected {len(columns)} columns in every line; it is left out"
    return columns, [[_value(cell) for cell in row] for row in rows], problem


def _value(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell or None


def read_json(path: Path) -> tuple[dict[str, Any], str]:
    """Read a JSON file that holds a mapping, or nothing."""
    text, problem = _read(path)
    if not text:
        return {}, problem
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        return {}, f"{path}, line {line}: expected JSON but {str(error)[:80]}; it is left out"
    if not isinstance(content, dict):
        return {}, f"{path}, line 1: expected a mapping; it is left out"
    return content, ""


def read_config(path: Path) -> tuple[dict[str, Any], str]:
    """Read a run's configuration, or nothing."""
    text, problem = _read(path)
    try:
        content = yaml.safe_load(text) if text else {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        return {}, f"{path}, line {mark.line + 1 if mark else 1}: expected YAML; it is left out"
    return (content if isinstance(content, dict) else {}), problem


def _read(path: Path) -> tuple[str, str]:
    """Return the text of a file; one that is not there yet is empty."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return "", ""
    except OSError as error:
        return "", f"{path}: cannot be read ({error.strerror}); it is left out"
    if len(content) > MAX_BYTES:
        return "", f"{path}: has more than {MAX_BYTES:,} bytes; it is left out"
    return content.decode(errors="replace"), ""


class Conversion:
    """Follows one run folder, which is only read: what is new is added to an event file."""

    def __init__(self, run: Path, out: Path) -> None:
        self.run, self.out = RunFolder(run), out
        self.file = out / f"events.out.tfevents.{int(time.time()):010d}.converted"
        self.rows: dict[int, Numbers] = {}  # as written
        self.read_at = -1.0  # when metrics.csv was last changed
        self.complete = False  # whether the summary was written
        self.options: dict[str, Value] = {}
        self.classes: list[str] = []
        self.shown: set[Path] = set()  # pictures

    def update(self) -> list[str]:
        """Write the options, new epochs and final numbers; return sentences on what is damaged."""
        problems = []
        if not self.file.exists():
            config, sentence = read_config(self.run.config)
            problems.append(sentence)
            self.options = hyperparameters(config)
            self._write([Event(wall_time=time.time(), file_version="brain.Event:2")])
            parts = options_summaries(self.options)[:2] if self.options else ()
            self._write(Event(wall_time=time.time(), summary=part) for part in parts)
        when = changed_at(self.run.metrics)
        if when != self.read_at:
            rows, sentence = read_metrics(self.run.metrics)
            problems.append(sentence)
            self._write(self._epochs(rows, when))
            self.rows, self.read_at = rows, when
        if not self.complete and self.run.complete:
            summary, sentence = read_json(self.run.summary)
            problems.append(sentence)
            classes = summary.get("classes")
            self.classes = [str(word) for word in classes] if isinstance(classes, list) else []
            self._write(self._final(summary))
            columns, cells, sentence = _read_table(self.run.path / "focus.csv")
            problems.append(sentence)
            if cells:
                table = text_summary(FOCUS_TABLE, as_text(columns, cells))
                self._write([Event(step=self.after, wall_time=time.time(), summary=table)])
            self.complete = True
        return [sentence for sentence in problems if sentence]

    def update_pictures(self) -> Iterator[str]:
        """Write new pictures, one at a time; at the end the projector's files."""
        for picture in _find_pictures(self.run.path, self.after):
            if picture.path not in self.shown:
                self.shown.add(picture.path)
                try:
                    summary = picture_summary(picture.name, picture.path)
                except (OSError, ValueError, SyntaxError) as error:  # of PIL: damaged or huge
                    yield f"{picture.path}: no picture ({str(error)[:80]}); it is left out"
                    continue
                when = changed_at(picture.path)
                self._write([Event(step=picture.epoch, wall_time=when, summary=summary)])
                yield ""
        features = self.run.path / "features.npz"
        if self.complete and features not in self.shown:
            self.shown.add(features)
            yield _show_features(self.run.path, self.out, self.classes)

    @property
    def after(self) -> int:
        """The epoch of the test, which follows the last one."""
        return max(self.rows, default=-1) + 1

    def _epochs(self, rows: dict[int, Numbers], when: float) -> Iterator[Event]:
        """Points of the epochs that are new; where a run was resumed from an earlier one, again."""
        new = [epoch for epoch in sorted(rows) if rows[epoch] != self.rows.get(epoch)]
        if new and any(epoch >= new[0] for epoch in self.rows):
            yield restart_event(new[0])
            new = [epoch for epoch in sorted(rows) if epoch >= new[0]]
        for epoch in new:
            for name, value in rows[epoch].items():
                yield scalar_event(name, value, epoch, when)

    def _final(self, summary: dict[str, Any]) -> Iterator[Event]:
        """Points of the test and the best epoch, under the names a run logs them by."""
        when = changed_at(self.run.summary)
        tested = summary.get("test")
        tested = tested if isinstance(tested, dict) else {}
        recall = tested.get(keys.RECALL)
        numbers = {key("test", name): tested.get(name) for name in OF_TEST}
        numbers[key("test", keys.LOSS)] = tested.get(keys.NLL)
        if isinstance(recall, dict):
            numbers |= {key("test", keys.RECALL, str(name)): v for name, v in recall.items()}
        for name, value in numbers.items():
            if isinstance(value, int | float) and math.isfinite(value):
                yield scalar_event(name, value, self.after, when)
        try:
            best = best_accuracy(summary)
        except (TypeError, ValueError, AttributeError, KeyError):
            best = None
        if best:
            yield scalar_event(key("val", keys.BEST_ACC), *best, when)
        if self.options and summary.get(keys.COMPLETED):
            yield Event(wall_time=when, summary=options_summaries(self.options)[2])

    def _write(self, events: Any) -> None:
        """Append events; whole records only, so that a reader can follow."""
        self.out.mkdir(parents=True, exist_ok=True)
        with self.file.open("ab") as file:
            records = RecordWriter(file)
            for event in events:
                records.write(event.SerializeToString())


def changed_at(path: Path) -> float:
    """When a file was changed, in seconds since 1970; 0 without it."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
