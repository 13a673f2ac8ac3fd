"""The cells of a study: one training each, and the folder that it is trained in."""

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from fer_lightning.errors import UserError
from fer_lightning.execution.study.plan import FocusPlan, ModelPlan, Study
from fer_lightning.runs.files import CONTROLS, FILES, RunFile, atomic, read_focus, write_json
from fer_lightning.runs.folder import RunFolder
from fer_lightning.runs.foreign import check_classes, foreign_classes
from fer_lightning.runs.identity import RESULT_VERSION, decisive, identity
from fer_lightning.runs.run import cell_name

Config = dict[str, Any]
State = Literal["done", "running", "failed", "half-done", "waiting"]
# written last by ``fer-lightning focus``, by how much is asked for
LAST_CONTROL = {"full": FILES["randomisation"], "maps": FILES["hiding"]}
REFUSED_BEFORE = "left_out.txt"  # of earlier versions: that nothing could be measured
TAIL = 20_000  # bytes of a log that are looked at


@dataclass(frozen=True)
class Cell:
    """One training of a study."""

    model: str  # the study's name for the model
    fraction: float  # share of the training images
    seed: int  # of training
    identity: str  # hash of what decides the result
    config: Mapping[str, Any] = field(repr=False)  # the whole configuration of the run
    varied: Mapping[str, Any] = field(default_factory=dict)  # as in `ModelPlan`

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


class Start(NamedTuple):
    """A trained source of a study, which models start from."""

    identity: str  # of its cell
    weights: Path  # its best checkpoint, once it is trained


@dataclass(frozen=True)
class CellFolder:
    """Where a cell's run is, or will be."""

    path: Path  # the folder
    focus: FocusPlan | None = None  # what a complete run also has, of ``fer-lightning focus``

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
        return RunFolder(self.path).complete and not self.unmeasured

    @property
    def unmeasured(self) -> list[str]:
        """The methods that are asked for and neither measured nor known to be impossible."""
        controls = self.path / CONTROLS
        if self.focus is None or (controls / REFUSED_BEFORE).is_file():
            return []
        known = left_out(controls).keys() | _methods_of(controls, LAST_CONTROL[self.focus.controls])
        return [method for method in self.focus.methods if method not in known]

    @property
    def state(self) -> State:
        """What is to be done, as far as files tell: they do not tell whether it runs."""
        if self.done:
            return "done"
        if self.failed.is_file():
            return "failed"
        return "half-done" if RunFolder(self.path).run.is_file() else "waiting"

    def prepare(self, cell: Cell) -> None:
        """Write what the training reads: its configuration, last the note on which cell it is.

        Raises:
            UserError: the configuration of a half-done run there names classes of other packages
                that the study does not.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self.failed.unlink(missing_ok=True)
        config = RunFolder(self.path).config
        if config.is_file():
            check_classes(config, known=foreign_classes(dict(cell.config)))
        else:
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


def left_out(controls: Path) -> dict[str, str]:
    """Return the methods that could not be measured, and why; empty where the file is damaged."""
    try:
        return {str(k): str(v) for k, v in (FILES["left_out"].read(controls) or {}).items()}
    except UserError:
        return {}


def leave_out(controls: Path, methods: Mapping[str, str], measured: Iterable[str] = ()) -> None:
    """Note why methods could not be measured, and forget it of those that were."""
    noted = {**left_out(controls), **methods}
    for name in measured:
        noted.pop(name, None)
    path = controls / FILES["left_out"].name
    if noted:
        controls.mkdir(parents=True, exist_ok=True)
        write_json(path, noted)
    else:
        path.unlink(missing_ok=True)


def _methods_of(controls: Path, file: RunFile) -> set[str]:
    """Name the methods in a table of the controls; none where it is missing or damaged."""
    path = file.find(controls)
    try:
        return set() if path is None else set(read_focus(path)["method"])
    except (UserError, KeyError):
        return set()


def cell_facts(cell: Cell) -> dict[str, Any]:
    """Content of cell.json."""
    facts = {name: getattr(cell, name) for name in ("model", "fraction", "seed", "identity")}
    varied = {"varied": dict(cell.varied)} if cell.varied else {}
    return {**facts, "result_version": RESULT_VERSION, **varied}


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
    sources: Mapping[tuple[str, int], Start] | None = None,
) -> list[Cell]:
    """Write out the cells of a study, in the order in which they are trained.

    Smaller fractions and first seeds come first, so that a picture of everything appears early.

    Args:
        study: the plan.
        resolve: makes a whole configuration of options for ``fit``.
        fingerprint_of: of a configuration's images.
        data_dir: where the images are, instead of where the plan says.
        sources: by name and seed, what models that start from one need.

    Raises:
        UserError: two cells with the same identity, or options that ``fit`` does not take.
    """
    where = data_dir or study.data_dir
    data = [] if where is None else [f"--data.data_dir={where}"]
    whole = {m.name: _resolved(m, study, resolve, data) for m in study.models}
    fingerprints = {name: fingerprint_of(config) for name, config in whole.items()}
    _check_one_data_set(study, fingerprints)
    largest = max(study.fractions) if study.equal_steps else None
    cells = [
        _cell(
            *(model, whole[model.name], fraction, seed, study.name, fingerprints[model.name]),
            {part: (sources or {})[name, seed] for part, name in model.start.items()},
            largest,
        )
        for seed in study.seeds
        for fraction in sorted(study.fractions)
        for model in study.models
    ]
    _check_different(cells)
    return cells


def make_sources(
    study: Study,
    resolve: Callable[[list[str]], Config],
    fingerprint_of: Callable[[Config], str],
) -> list[Cell]:
    """Write out what models of a study start from: one training a seed, with all of its data."""
    cells = []
    for source in study.sources:
        config = _resolved(source, study, resolve, [])
        fingerprint = fingerprint_of(config)
        cells += [_cell(source, config, 1.0, s, study.name, fingerprint, {}) for s in study.seeds]
    return cells


def _resolved(
    model: ModelPlan, study: Study, resolve: Callable[[list[str]], Config], data: list[str]
) -> Config:
    try:
        return resolve([*fit_options(model), *data])
    except UserError as error:
        raise UserError(f"model {model.name} of {study.path}: {error}") from error


def _cell(
    model: ModelPlan,
    config: Config,
    fraction: float,
    seed: int,
    group: str,
    fingerprint: str,
    starts: Mapping[str, Start],
    as_many_steps_as: float | None = None,
) -> Cell:
    config = copy.deepcopy(config)
    config["seed_everything"] = seed
    config["data"]["fraction"] = fraction
    if as_many_steps_as is not None:
        take_more_epochs(config, as_many_steps_as / fraction)
    one_of_many(config, group, group, model.name)
    # known before the source is trained, so by what decides the source
    named = {part: f"cell {start.identity}" for part, start in starts.items()}
    known_as = identity(decisive(_starting(config, named), fingerprint))
    config = _starting(config, {part: str(start.weights) for part, start in starts.items()})
    return Cell(model.name, fraction, seed, known_as, config, model.varied)


def _starting(config: Config, files: Mapping[str, str]) -> Config:
    """Return a configuration whose model starts from files, by part."""
    if not files:
        return config
    transfer = {**(config["model"].get("transfer") or {}), **files}
    return {**config, "model": {**config["model"], "transfer": transfer}}


def take_more_epochs(config: Config, ratio: float) -> None:
    """Let a run with fewer images take as many steps as one with `ratio` times as many.

    It validates after about as many steps, too, so that patience means the same; its last epoch is
    one with validation. Warm-up keeps its number of steps.

    Raises:
        UserError: the run has no number of epochs.

    >>> config = {"trainer": {"max_epochs": 30}, "model": {"warmup_epochs": 3}}
    >>> take_more_epochs(config, 1 / 0.3)
    >>> config["trainer"], round(config["model"]["warmup_epochs"], 1)
    ({'max_epochs': 99, 'check_val_every_n_epoch': 3}, 9.9)
    """
    trainer, model = config["trainer"], config["model"]
    epochs, between = trainer.get("max_epochs") or 0, trainer.get("check_val_every_n_epoch") or 1
    if epochs < 1:
        raise UserError(
            f"expected trainer.max_epochs for equal_steps but got {trainer.get('max_epochs')}; "
            "give the number of epochs of the largest fraction"
        )
    if round(between * ratio) == between:
        return
    between = round(between * ratio)
    trainer["check_val_every_n_epoch"] = between
    trainer["max_epochs"] = between * max(round(epochs * ratio / between), 1)
    if model.get("warmup_epochs"):
        model["warmup_epochs"] *= trainer["max_epochs"] / epochs


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
    """Refuse models that learn from different images, unless the study varies just these."""
    first: dict[str, str] = {}
    for model in study.models:
        other = first.setdefault(str(model.varied.get("value")), model.name)
        if fingerprints[model.name] != fingerprints[other]:
            raise UserError(
                f"expected one data set for all models of {study.path} but {other} has "
                f"{fingerprints[other]} and {model.name} {fingerprints[model.name]}; give both the "
                "same data options"
            )
