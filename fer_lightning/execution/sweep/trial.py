"""The runs of a sweep: their points and folders, how far they are as files tell, and sweep.json."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fer_lightning import keys
from fer_lightning.errors import UserError, nearest
from fer_lightning.execution.study.cells import CellFolder
from fer_lightning.execution.sweep.file import Sweep
from fer_lightning.keys import key
from fer_lightning.runs.files import Metrics, if_readable, read_json, read_metrics, write_json
from fer_lightning.runs.folder import RunFolder

State = Literal["done", "stopped", "running", "failed", "half-done", "waiting"]
STATE = "sweep.json"  # a folder with it is a sweep's
EPOCH_SECONDS = key("train", keys.EPOCH_SECONDS)


@dataclass
class Trial:
    """One run of a sweep."""

    number: int  # in the order in which points were drawn, from 1
    parameters: dict[str, Any]  # option of ``fit`` → value
    folder: CellFolder  # its run folder
    stopped: bool = False  # ended early because others are better
    began: float | None = field(default=None, compare=False)  # monotonic seconds, while it runs

    @property
    def name(self) -> str:
        """That of its folder."""
        return self.folder.path.name

    @property
    def state(self) -> State:
        """A run that came to its end is done, even if it was to be stopped."""
        if self.began is not None:
            return "running"
        state = self.folder.state
        return "stopped" if self.stopped and state != "done" else state


@dataclass(frozen=True)
class Measured:
    """What a run has logged so far."""

    history: tuple[float, ...] = ()  # the metric, epoch by epoch
    best: float | None = None  # the best of them and of the final numbers; None where there is none
    epochs: int = 0  # that are complete
    seconds: float | None = None  # of training; None where nothing is known
    logged: tuple[str, ...] = ()  # every name that was logged


class Reader:
    """Reads runs, each again only after its files have changed."""

    def __init__(self, metric: str, goal: str) -> None:
        self.metric, self.best_of = metric, max if goal == "maximize" else min
        self.known: dict[str, tuple[tuple[int, ...], Measured]] = {}

    def measure(self, trial: Trial) -> Measured:
        """Return what a trial has logged so far."""
        folder = RunFolder(trial.folder.path)
        times = tuple(
            path.stat().st_mtime_ns if path.is_file() else 0
            for path in (folder.metrics, folder.summary)
        )
        before = self.known.get(trial.name)
        if before is None or before[0] != times:
            before = self.known[trial.name] = (times, self._read(folder))
        return before[1]

    def _read(self, folder: RunFolder) -> Measured:
        read = if_readable(read_metrics, folder.metrics)[0] or Metrics({})
        epochs = [epoch + 1 for epoch, row in read.rows.items() if row]
        rows = [_numbers(row) for row in read.rows.values()]
        summary = _summary(folder)
        history = tuple(row[self.metric] for row in rows if self.metric in row)
        final = [summary[self.metric]] if self.metric in summary else []
        times = [row[EPOCH_SECONDS] for row in rows if EPOCH_SECONDS in row]
        return Measured(
            history,
            self.best_of([*history, *final]) if history or final else None,
            max(epochs, default=0),
            summary.get("seconds", sum(times) if times else None),
            tuple(dict.fromkeys(name for row in [*rows, summary] for name in row if "/" in name)),
        )

    def check(self, trial: Trial) -> None:
        """Refuse to go on where a finished run has never logged the metric.

        Raises:
            UserError: it has not.
        """
        measured = self.measure(trial)
        if measured.best is None:
            raise UserError(
                f"expected the metric '{self.metric}' in {trial.folder.path} but the run has not "
                f"logged it; {nearest(self.metric, measured.logged)}"
            )


def _summary(folder: RunFolder) -> dict[str, float]:
    """Final numbers, named as logged: ``val/acc``, ``test/acc``, and ``seconds``."""
    content = if_readable(read_json, folder.summary)[0] or {}
    found = _numbers({"seconds": content.get("seconds")})
    for stage in ("val", "test"):
        inner = content.get(stage)
        named = inner.items() if isinstance(inner, Mapping) else ()
        found |= _numbers({f"{stage}/{name}": value for name, value in named})
    return found


def _numbers(row: Mapping[Any, Any]) -> dict[str, float]:
    """Keep what is a finite number."""
    found = {}
    for name, value in row.items():
        try:
            number = float(value)
        except (TypeError, ValueError):
            continue
        if isinstance(name, str) and math.isfinite(number):
            found[name] = number
    return found


@dataclass
class SweepState:
    """The runs of a sweep."""

    out: Path  # the sweep's folder; each run has its own below
    sweep: Sweep  # the sweep file
    data: str | None = None  # the images that were given beside it
    seed: int = 0  # of the search
    trials: list[Trial] = field(default_factory=list)  # in the order in which they were drawn

    def __post_init__(self) -> None:
        self.reader = Reader(self.sweep.metric, self.sweep.goal)

    def measure(self, trial: Trial) -> Measured:
        """Return what a run has logged so far."""
        return self.reader.measure(trial)

    def best_first(self) -> list[Trial]:
        """Return the runs ordered by their metric, those without one last."""
        sign = -1 if self.sweep.goal == "maximize" else 1
        best = {trial.name: self.measure(trial).best for trial in self.trials}
        return sorted(
            self.trials, key=lambda t: (best[t.name] is None, sign * (best[t.name] or 0.0))
        )

    def add(self, parameters: dict[str, Any]) -> Trial:
        """Note a new point, before anything is done for it."""
        self.trials.append(self.trial(parameters))
        self.save()
        return self.trials[-1]

    def trial(self, parameters: dict[str, Any]) -> Trial:
        """Return the next run, without noting it."""
        number = len(self.trials) + 1
        return Trial(number, parameters, _folder(self.out, f"{self.sweep.name}-{number:03d}"))

    def stop(self, trial: Trial) -> None:
        """Note that a run ends early."""
        trial.stopped = True
        self.save()

    def save(self) -> None:
        """Write everything, atomically."""
        self.out.mkdir(parents=True, exist_ok=True)
        content = {
            "name": self.sweep.name,
            "file": str(self.sweep.path),
            "data": self.data,
            "seed": self.seed,
            "sweep": dict(self.sweep.content),
            "trials": [
                {"name": t.name, "parameters": t.parameters, "stopped": t.stopped}
                for t in self.trials
            ],
        }
        write_json(self.out / STATE, content)


def read_state(out: Path) -> SweepState:
    """Read a sweep's folder.

    Raises:
        UserError: it is none, or its file is damaged.
    """
    content = read_json(out / STATE)
    try:
        sweep = Sweep(Path(content["file"]), str(content["name"]), content["sweep"])
        trials = [
            Trial(number, dict(one["parameters"]), _folder(out, one["name"]), bool(one["stopped"]))
            for number, one in enumerate(content["trials"], 1)
        ]
        _ = sweep.metric, sweep.goal, sweep.varied, sweep.method  # all are there
        return SweepState(out, sweep, content["data"], int(content["seed"]), trials)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"expected the runs of a sweep in {out / STATE} but it is damaged ({error!r:.60}); "
            "remove it to begin again, or choose another --out"
        ) from error


def open_state(out: Path, sweep: Sweep, data: str | None, seed: int) -> SweepState:
    """Go on with the sweep of a folder, or begin one; nothing is written.

    Raises:
        UserError: another sweep's folder, other images, or a file.
    """
    if out.exists() and not out.is_dir():
        raise UserError(
            f"expected a folder for the sweep but {out} is a file; choose another --out"
        )
    if not (out / STATE).is_file():
        return SweepState(out, sweep, data, seed)
    before = read_state(out)
    changed = _changed(sweep.decisive, before.sweep.decisive)
    if changed:
        raise UserError(
            f"expected the sweep that was begun in {out} but {', '.join(changed)} of {sweep.path} "
            "changed since; choose another --out"
        )
    for what, now, then in (("--data", data, before.data), ("--seed", seed, before.seed)):
        if now != then:
            raise UserError(
                f"expected {what} {then} as when the sweep in {out} was begun but got {now}; "
                "give the same, or choose another --out"
            )
    return SweepState(out, sweep, data, seed, before.trials)


def _changed(now: dict[str, Any], then: dict[str, Any]) -> list[str]:
    return sorted(name for name in {*now, *then} if now.get(name) != then.get(name))


def _folder(out: Path, name: Any) -> CellFolder:
    return CellFolder(out / Path(str(name)).name)
