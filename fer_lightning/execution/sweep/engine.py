"""The loop of a sweep: draw, start, look, stop early; every step can be interrupted and resumed."""

import time
from collections.abc import Callable
from typing import Any

from fer_lightning.errors import UserError
from fer_lightning.execution.sweep.search import draw, to_stop
from fer_lightning.execution.sweep.trial import SweepState, Trial
from fer_lightning.execution.training import TICK, Stopped, asked_to_stop
from fer_lightning.execution.workers import Ended, Workers, nothing
from fer_lightning.runs.folder import RunFolder, atomic

Configure = Callable[[dict[str, Any]], str]


class Engine:
    """Runs a sweep to its end."""

    def __init__(
        self,
        state: SweepState,
        workers: Workers,
        configure: Configure,
        count: int,
        watch: Callable[[Trial | None], None] = nothing,
        retry_failed: bool = False,
    ) -> None:
        self.state, self.workers = state, workers
        self.configure, self.count, self.watch = configure, count, watch
        again = ("half-done", "waiting", *(("failed",) if retry_failed else ()))
        self.todo = [trial for trial in state.trials if trial.state in again]
        self.running: dict[str, Trial] = {}
        self.exhausted = False  # every point has been drawn
        self.looked: dict[str, int] = {}  # epochs of each running trial when last compared

    def run(self) -> None:
        """Train until there are as many runs as wanted, or no more points.

        A run that fails stops no other.

        Raises:
            Stopped: SIGINT, SIGTERM or SIGHUP came; the trainings have ended and can go on.
            UserError: runs do not log the metric.
        """
        with asked_to_stop() as asked:
            try:
                while True:
                    if asked:
                        raise Stopped
                    self._stop_early()
                    while self.workers.free and (trial := self._next()) is not None:
                        self._begin(trial)
                    if not self.running:
                        break
                    ended = list(self.workers.ended())
                    for one in ended:
                        self._end(one)
                    self.watch(None)
                    if not ended:
                        self.workers.wait(TICK)
            finally:
                self.workers.end()
                for trial in self.running.values():
                    trial.began = None
        self.watch(None)

    def _next(self) -> Trial | None:
        """Return a run to go on with, or a new one."""
        if self.todo:
            return self.todo.pop(0)
        if self.exhausted or len(self.state.trials) >= self.count:
            return None
        point = draw(self.state.sweep, self.state.trials, self.state.reader, self.state.seed)
        self.exhausted = point is None
        return None if point is None else self.state.add(point)

    def _begin(self, trial: Trial) -> None:
        folder = trial.folder
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.failed.unlink(missing_ok=True)
        config = RunFolder(folder.path).config
        try:
            if not config.is_file():
                text = self.configure(trial.parameters)
                with atomic(config) as file:
                    file.write(text)
        except UserError as error:  # a point that no training takes
            with folder.log.open("a") as log:
                log.write(f"error: {error}\n")
            folder.fail(2)
            self.watch(trial)
            return
        trial.began = time.monotonic()
        self.running[trial.name] = trial
        self.workers.start(folder)
        self.watch(trial)

    def _end(self, ended: Ended) -> None:
        """Note how a run ended; one that was killed from outside goes on next time."""
        trial = self.running.pop(ended.name)
        trial.began = None
        self.looked.pop(ended.name, None)
        if ended.outcome == "failed":
            trial.folder.fail(ended.code)
        elif ended.outcome == "done":
            self.state.reader.check(trial)
        self.watch(trial)

    def _stop_early(self) -> None:
        """Compare running trials whenever one of them has finished an epoch."""
        epochs = {name: len(self.state.measure(t).history) for name, t in self.running.items()}
        if epochs == self.looked or not self.state.sweep.stops_early:
            return
        self.looked = epochs
        for trial in to_stop(self.state.sweep, self.state.trials, self.state.reader):
            if not trial.stopped:
                self.state.stop(trial)  # first on disk: whoever goes on must not start it again
                self.workers.ask_to_end(trial.name)
