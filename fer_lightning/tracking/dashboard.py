"""Starts TensorBoard on this machine alone."""

import contextlib
import io
import logging
import shutil
from pathlib import Path
from typing import Any

from tensorboard import program
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams.backend_context import Context
from tensorboard.plugins.hparams.hparams_plugin import HParamsPlugin
from tensorboard.plugins.projector import projector_plugin

from fer_lightning.errors import UserError
from fer_lightning.runs.find import find_runs
from fer_lightning.runs.folder import RunFolder
from fer_lightning.tracking.convert import Conversion, changed_at
from fer_lightning.tracking.events import CONFIG

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
