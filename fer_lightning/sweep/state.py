"""What a sweep must remember, on disk after every change: its points and which were stopped."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fer_lightning.errors import UserError
from fer_lightning.study.cell_folder import CellFolder
from fer_lightning.study.run_files import read_json
from fer_lightning.sweep.file import Sweep
from fer_lightning.sweep.trial import Trial
from fer_lightning.tracking.run_folder import write_json

STATE = "sweep.json"  # a folder with it is a sweep's


@dataclass
class SweepState:
    """The runs of a sweep.

    Args:
        out: the sweep's folder; each run has its own below.
        sweep: the sweep file.
        data: the images that were given beside it.
        seed: of the search.
        trials: in the order in which they were drawn.
    """

    out: Path
    sweep: Sweep
    data: str | None = None
    seed: int = 0
    trials: list[Trial] = field(default_factory=list)

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
    return CellFolder(out / Path(str(name)).name, controls=False)


def best_first(trials: Iterable[tuple[Trial, float | None]], goal: str) -> list[Trial]:
    """Order runs by their metric, those without one last."""
    sign = -1 if goal == "maximize" else 1
    ordered = sorted(trials, key=lambda pair: (pair[1] is None, sign * (pair[1] or 0.0)))
    return [trial for trial, _ in ordered]
