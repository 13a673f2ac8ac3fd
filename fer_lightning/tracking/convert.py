"""Event files of a run that has none: from metrics.csv, summary.json and the pictures."""

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.record_writer import RecordWriter

from fer_lightning import keys
from fer_lightning.keys import FOCUS_TABLE, key
from fer_lightning.runs.files import (
    FILES,
    PICTURE,
    Metrics,
    if_readable,
    read_config,
    read_csv,
    read_features,
    read_json,
    read_metrics,
)
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

Numbers = dict[str, float]
MOST = 10  # epochs of one kind: TensorBoard shows no more
OF_TEST = (keys.ACC, keys.MACRO_F1, keys.ECE, keys.ECE_FLOOR)
OF_TRAINING = ("weighting",)  # kinds of picture that show training images


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
            match = PICTURE.fullmatch(path.name)
            if match and match[1]:
                of_kind.append(_Picture(f"{stage}/{kind.name}", int(match[1]), path))
            elif match:
                found.append(_Picture(f"test/{kind.name}", after, path))
        places = np.linspace(0, len(of_kind) - 1, min(MOST, len(of_kind))).round().astype(int)
        found += [of_kind[place] for place in places]
    return found


def _show_features(run: Path, out: Path, classes: list[str]) -> str:
    """Write ``features.npz`` for the projector; return a sentence where it cannot be read."""
    found, why = if_readable(read_features, run / FILES["features"].name)
    if found is None:
        return why
    if found.faces is None or not len(found.row):
        return f"left out: {run / FILES['features'].name} holds no faces"
    faces = found.faces[:, None] if found.faces.ndim == 3 else found.faces.transpose(0, 3, 1, 2)
    labels = [classes[i] if 0 <= i < len(classes) else f"class {i}" for i in found.label.tolist()]
    write_projector(out, "test/features", found.features, labels, faces)
    return ""


def focus_text(path: Path) -> str:
    """Write the focus table as text.

    Raises:
        UserError: it is damaged.
    """
    table = read_csv(path).astype(object)
    rows = table.where(table.notna(), None).to_numpy().tolist()
    return as_text([str(name) for name in table.columns], rows) if rows else ""


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
            config, sentence = if_readable(read_config, self.run.config)
            problems.append(sentence)
            self.options = hyperparameters(config or {})
            self._write([Event(wall_time=time.time(), file_version="brain.Event:2")])
            parts = options_summaries(self.options)[:2] if self.options else ()
            self._write(Event(wall_time=time.time(), summary=part) for part in parts)
        when = changed_at(self.run.metrics)
        if when != self.read_at:
            found, sentence = if_readable(read_metrics, self.run.metrics)
            rows, damage = found or Metrics({})
            problems += [sentence, damage]
            self._write(self._epochs(rows, when))
            self.rows, self.read_at = rows, when
        if not self.complete and self.run.complete:
            read, sentence = if_readable(read_json, self.run.summary)
            problems.append(sentence)
            summary = read or {}
            classes = summary.get("classes")
            self.classes = [str(word) for word in classes] if isinstance(classes, list) else []
            self._write(self._final(summary))
            text, sentence = if_readable(focus_text, self.run.path / FILES["focus"].name)
            problems.append(sentence)
            if text:
                table = text_summary(FOCUS_TABLE, text)
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
        features = self.run.path / FILES["features"].name
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
