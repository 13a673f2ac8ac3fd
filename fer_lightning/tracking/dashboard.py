"""Starts TensorBoard on this machine alone."""

import contextlib
import io
import logging
import math
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tensorboard import program
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams.backend_context import Context
from tensorboard.plugins.hparams.hparams_plugin import HParamsPlugin
from tensorboard.plugins.projector import projector_plugin
from tensorboard.summary.writer.record_writer import RecordWriter

from fer_lightning import keys
from fer_lightning.errors import UserError
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
from fer_lightning.runs.find import find_runs
from fer_lightning.runs.folder import RunFolder
from fer_lightning.tracking.events import (
    CONFIG,
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

# --- Event files of a run that has none: from metrics.csv, summary.json and the pictures


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


TENSORS = 4  # sets of features kept in memory
HOST = "127.0.0.1"
LARGEST_PORT = 65535
RELOAD = 5.0  # seconds between looks for new events


class Logdir:
    """Keeps up with a folder of runs, which are only read, in an empty folder for TensorBoard."""

    def __init__(self, root: Path, place: Path) -> None:
        self.root, self.place = root, place
        self.linked: set[str] = set()
        self.converted: dict[str, Conversion] = {}
        self.waiting: list[str] = []  # converted runs that may have new pictures

    def refresh(self) -> list[str]:
        """Show new runs and new epochs; return sentences on what could not be read."""
        problems = []
        for name, path in find_runs(self.root).items():
            if name in self.linked:
                continue
            run = RunFolder(path)
            has_events = any(run.tensorboard.glob("events.out.tfevents.*"))
            if has_events and self._link(name, path):
                continue
            if name not in self.converted:
                if not run.metrics.is_file() and not run.complete:
                    continue  # just begun
                self.converted[name] = Conversion(path, self.place / name)
            conversion = self.converted[name]
            if not conversion.complete:
                problems += conversion.update()
                self.waiting += [] if name in self.waiting else [name]
        return problems

    def show_pictures(self) -> list[str] | None:
        """Show the pictures of one run that waits; None if none does."""
        if not self.waiting:
            return None
        name = self.waiting.pop()
        if name not in self.converted:
            return []
        return [sentence for sentence in self.converted[name].update_pictures() if sentence]

    def unfinished(self) -> list[str]:
        """Names of the runs shown that have no summary: at work, or stopped."""
        runs = find_runs(self.root)
        shown = self.linked | self.converted.keys()
        return [name for name in runs if name in shown and not RunFolder(runs[name]).complete]

    def _link(self, name: str, path: Path) -> bool:
        """Link the event files; where a system has no links, they are converted instead."""
        target = self.place / name
        if name in self.converted:  # resumed with a version that writes event files
            shutil.rmtree(self.converted.pop(name).out, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            target.symlink_to(RunFolder(path.resolve()).tensorboard, target_is_directory=True)
        except OSError:
            return False
        self.linked.add(name)
        return True


class _LiveProjector(projector_plugin.ProjectorPlugin):
    """The projector, which reads again what a training has replaced."""

    _changed_at: dict[str, float] | None = None
    _run_paths: dict[str, str] | None

    def _update_configs(self) -> None:
        super()._update_configs()
        now = {run: changed_at(Path(path, CONFIG)) for run, path in (self._run_paths or {}).items()}
        if now != self._changed_at:
            self._changed_at = now
            self.tensor_cache = projector_plugin.LRUCache(TENSORS)
            self._run_paths = None
            super()._update_configs()


class _AllColumns(Context):
    """Columns of the HParams page from all runs; results as the runs name them."""

    def _find_experiment_tag(self, runs: Any, include_metrics: bool) -> Any:
        found = super()._find_experiment_tag(runs, include_metrics)
        if found is not None:
            columns = self._compute_hparam_infos(runs)
            found.ClearField("hparam_infos")
            found.hparam_infos.extend(sorted(columns, key=lambda c: (not c.differs, c.name)))
        return found


class _WholeHParams(HParamsPlugin):
    """The HParams page with the columns of all runs."""

    def __init__(self, context: TBContext) -> None:
        super().__init__(context)
        self._context = _AllColumns(context)


def plugins() -> list[Any]:
    """Return TensorBoard's pages with ours in the places of theirs."""
    from tensorboard import default

    ours = {projector_plugin.ProjectorPlugin: _LiveProjector, HParamsPlugin: _WholeHParams}
    return [ours.get(page, page) for page in default.get_plugins()]


def serve(logdir: Path, port: int | None) -> str:
    """Serve a folder of event files until the process ends; return the address."""
    if port is not None and not 0 <= port <= LARGEST_PORT:
        raise UserError(f"expected a port from 0 to {LARGEST_PORT} but got {port}")
    for name in ("tensorboard", "werkzeug"):
        logging.getLogger(name).setLevel(logging.ERROR)
    page = program.TensorBoard(plugins=plugins())
    page.configure(
        argv=["tensorboard"], logdir=str(logdir), host=HOST, port=port, reload_interval=RELOAD
    )
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # notes on its own workings
            return str(page.launch()).replace("localhost", HOST)
    except program.TensorBoardServerException as error:
        raise UserError(
            f"expected port {port or 'from 6006 on'} to be free but it cannot be used "
            f"({' '.join(str(error.msg).split())[:100]}); choose another --port, or leave it out"
        ) from error
