"""The cells of a study: one training each, and the folder that it is trained in."""

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import yaml

from fer_lightning.errors import UserError
from fer_lightning.execution.study.plan import ModelPlan, Study
from fer_lightning.runs.files import CONTROLS, FILES, atomic, write_json
from fer_lightning.runs.folder import RunFolder
from fer_lightning.runs.identity import RESULT_VERSION, decisive, identity
from fer_lightning.runs.run import cell_name

Config = dict[str, Any]
State = Literal["done", "running", "failed", "half-done", "waiting"]
LAST_CONTROL = FILES["randomisation"].name  # written last by ``fer-lightning focus``
REFUSED = "left_out.txt"  # why the controls could not be measured
TAIL = 20_000  # bytes of a log that are looked at


@dataclass(frozen=True)
class Cell:
    """One training of a study."""

    model: str  # the study's name for the model
    fraction: float  # share of the training images
    seed: int  # of training
    identity: str  # hash of what decides the result
    config: Mapping[str, Any] = field(repr=False)  # the whole configuration of the run

    @property
    def name(self) -> str:
        """The cell in words: ``vit-30pct-seed42``."""
        return cell_name(self.model, self.fraction, self.seed)

    @property
    def folder_name(self) -> str:
        """Its folder: an edited cell gets another one, and the old run stays."""
        return f"{self.name}-{self.identity[:8]}"

    @property
    def config_text(self) -> str:
        """Content of config.yaml."""
        return yaml.safe_dump(dict(self.config), sort_keys=False)


@dataclass(frozen=True)
class CellFolder:
    """Where a cell's run is, or will be."""

    path: Path  # the folder
    controls: bool = True  # whether a complete run also has the controls of ``fer-lightning focus``

    @property
    def log(self) -> Path:
        """What the training printed."""
        return self.path / FILES["log"].name

    @property
    def failed(self) -> Path:
        """Says that the training ended with an error."""
        return self.path / FILES["failed"].name

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""
        looked = (self.path / CONTROLS / name for name in (LAST_CONTROL, REFUSED))
        there = not self.controls or any(file.is_file() for file in looked)
        return RunFolder(self.path).complete and there

    @property
    def state(self) -> State:
        """What is to be done, as far as files tell: they do not tell whether it runs."""
        if self.done:
            return "done"
        if self.failed.is_file():
            return "failed"
        return "half-done" if RunFolder(self.path).run.is_file() else "waiting"

    def prepare(self, cell: Cell) -> None:
        """Write what the training reads: its configuration, last the note on which cell it is."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.failed.unlink(missing_ok=True)
        config = RunFolder(self.path).config
        if not config.is_file():
            with atomic(config) as file:
                file.write(cell.config_text)
        write_json(self.path / FILES["cell"].name, cell_facts(cell))

    def fail(self, code: int) -> None:
        """Note that the training ended with an error, so that it is not tried again by itself."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        write_json(self.failed, {"code": code, "when": when})

    def last_words(self) -> str:
        """The last line of the log: a sentence where the user can mend it."""
        if not self.log.is_file():
            return "it left no log"
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - TAIL))
            lines = file.read().decode(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "its log is empty")

    def why_not_done(self, name: str, failed: bool) -> str:
        """Say how a training ended, what to do, and where to read more."""
        killed = "was killed; the same command goes on"
        how = "failed; try again with --retry-failed" if failed else killed
        return f"{name} {how}:\n  {self.last_words()}\n  its log is {self.log}"


def cell_facts(cell: Cell) -> dict[str, str | float | int]:
    """Content of cell.json."""
    facts = {name: getattr(cell, name) for name in ("model", "fraction", "seed", "identity")}
    return {**facts, "result_version": RESULT_VERSION}


def fit_options(model: ModelPlan) -> list[str]:
    """Return a model's options for ``fit``.

    >>> fit_options(ModelPlan("vit", (), {"model.net.depth": 2, "trainer.callbacks": []}))
    ['--model.net=vit', '--model.net.depth=2', '--trainer.callbacks=[]']
    """
    net = [] if model.configs else [f"--model.net={model.name}"]
    configs = [f"--config={path}" for path in model.configs]
    overrides = [
        f"--{option}={value if isinstance(value, str) else json.dumps(value)}"
        for option, value in model.overrides.items()
    ]
    return [*net, *configs, *overrides]


def make_cells(
    study: Study,
    resolve: Callable[[list[str]], Config],
    fingerprint_of: Callable[[Config], str],
    data_dir: str | None = None,
) -> list[Cell]:
    """Write out the cells of a study, in the order in which they are trained.

    Smaller fractions and first seeds come first, so that a picture of everything appears early.

    Raises:
        UserError: two cells with the same identity, or options that ``fit`` does not take.
    """
    where = data_dir or study.data_dir
    data = [] if where is None else [f"--data.data_dir={where}"]
    whole = {}
    for model in study.models:
        try:
            whole[model.name] = resolve([*fit_options(model), *data])
        except UserError as error:
            raise UserError(f"model {model.name} of {study.path}: {error}") from error
    fingerprints = {name: fingerprint_of(config) for name, config in whole.items()}
    _check_one_data_set(study, fingerprints)
    cells = [
        _cell(name, whole[name], fraction, seed, study.name, fingerprints[name])
        for seed in study.seeds
        for fraction in sorted(study.fractions)
        for name in whole
    ]
    _check_different(cells)
    return cells


def _cell(
    model: str, config: Config, fraction: float, seed: int, group: str, fingerprint: str
) -> Cell:
    config = copy.deepcopy(config)
    config["seed_everything"] = seed
    config["data"]["fraction"] = fraction
    one_of_many(config, group, group, model)
    return Cell(model, fraction, seed, identity(decisive(config, fingerprint)), config)


def one_of_many(config: Config, group: str, *tags: str) -> None:
    """Make a configuration that of one run among others, which W&B shows as a group."""
    config["report"] = False  # there is one of all runs
    if config["trainer"].get("devices", "auto") == "auto":
        config["trainer"]["devices"] = 1  # more would make the batches larger
    wandb = config.setdefault("wandb", {})
    wandb["group"] = wandb.get("group") or group
    wandb["tags"] = [*dict.fromkeys([*(wandb.get("tags") or ()), *tags])]


def _check_different(cells: list[Cell]) -> None:
    seen: dict[str, Cell] = {}
    for cell in cells:
        other = seen.setdefault(cell.identity, cell)
        if other is not cell:
            raise UserError(
                f"expected different cells but {other.name} and {cell.name} are the same "
                f"training ({cell.identity}); remove one of the models {other.model}, "
                f"{cell.model} or change its overrides"
            )


def _check_one_data_set(study: Study, fingerprints: Mapping[str, str]) -> None:
    first = next(iter(fingerprints))
    for name, fingerprint in fingerprints.items():
        if fingerprint != fingerprints[first]:
            raise UserError(
                f"expected one data set for all models of {study.path} but {first} has "
                f"{fingerprints[first]} and {name} {fingerprint}; give both the same data options"
            )
