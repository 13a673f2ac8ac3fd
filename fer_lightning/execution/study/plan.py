"""The study file: which models, fractions and seeds make an experiment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from fer_lightning.errors import UserError, nearest
from fer_lightning.runs.files import DEFAULT_METHODS
from fer_lightning.schema import Schema, check, read_mapping
from fer_lightning.shipped import find_beside

if TYPE_CHECKING:
    from fer_lightning.execution.study.execute import Job

MOST_CELLS = 10_000
SET_BY_STUDY = ("data.fraction", "seed_everything", "run_name", "runs_dir", "resume", "config")

AXES = {"model": str, "fraction": float, "seed": int}  # of ``--only model=cnn,seed=42``


@dataclass(frozen=True)
class ModelPlan:
    """A model of a study: what ``fit`` gets beside fraction and seed."""

    name: str  # the study's name for it
    # files for ``--config``; without one, `name` is that of a registered model
    configs: tuple[Path, ...]
    overrides: Mapping[str, Any]  # dotted option to value, such as ``{"model.net.depth": 2}``
    # where a study varies an option: {"model": …, "option": …, "value": …}
    varied: Mapping[str, Any] = field(default_factory=dict)
    # part of the model ("weights" for all but its head, "stem", "encoder") to the source that it
    # starts from
    start: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FocusPlan:
    """What ``focus`` measures of each cell; measuring more later trains nothing again."""

    samples: int = 200  # test images that are looked at
    methods: tuple[str, ...] = DEFAULT_METHODS
    controls: Literal["full", "maps"] = "full"  # maps: the model's own maps and hiding alone


@dataclass(frozen=True)
class Study:
    """A study file's content; paths in it are relative to the file."""

    path: Path  # the file
    name: str  # of the study
    models: tuple[ModelPlan, ...]  # in the order in which reports list them
    fractions: tuple[float, ...]  # shares of the training images
    seeds: tuple[int, ...]  # of training; the split has its own
    data_dir: str | None = None  # where the images are, if the file says so
    focus: FocusPlan | None = FocusPlan()  # None leaves this out
    # what the statistics shall answer, as they stand in the file
    hypotheses: tuple[Mapping[str, Any], ...] = ()
    results: Path | None = None  # folder of finished runs that count as done
    # what models start from: trained first, once for each seed, on data of their own
    sources: tuple[ModelPlan, ...] = ()
    # smaller fractions train for more epochs, so that all take as many steps as the largest
    equal_steps: bool = False
    rehearsed: bool = False  # shrunk to what shows that it runs; its numbers decide nothing


def _different(given: list[Any], info: ValidationInfo) -> list[Any]:
    if len(set(given)) < len(given):
        raise ValueError(f"expected different {info.field_name} but got {given!r:.80}")
    return given


def _free(given: dict[str, Any] | None) -> dict[str, Any]:
    for option in given or ():
        if option in SET_BY_STUDY:
            raise ValueError(
                f"expected no override of {option}, which the study sets itself; "
                "use fractions, seeds, --data and --out"
            )
    return given or {}


NAMES = "letters, digits, '_', '-' and '.'"
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,39}$")]  # part of folder names
Fraction = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Overrides = Annotated[dict[str, Any] | None, AfterValidator(_free)]
Configs = Annotated[list[str], BeforeValidator(lambda c: c if isinstance(c, list) else [c])]


def _one_option(given: dict[str, list[Any]] | None) -> dict[str, list[Any]]:
    _free(given)
    for option, values in (given or {}).items():
        if len(given or {}) > 1 or len(values) < 2 or len(set(map(str, values))) < len(values):
            raise ValueError(
                f"expected one option with two or more different values as vary but got "
                f"{option}: {values!r:.60}"
            )
    return given or {}


class _Source(Schema):
    config: Configs = Field(default=[], description="a config file or a list of them")
    overrides: Overrides = None


class _Model(_Source):
    start: dict[Literal["weights", "stem", "encoder"], str] = Field(
        default={}, description="weights, stem or encoder, and a source, as start"
    )


class _Data(Schema):
    data_dir: str | None = Field(default=None, description="a path as data.data_dir")


class _Focus(Schema):
    samples: int | None = Field(
        default=200,
        ge=2,
        description="focus.samples of at least 2, or null for no controls,",
    )
    methods: Annotated[list[str], AfterValidator(_different)] = Field(
        default=list(DEFAULT_METHODS),
        min_length=1,
        description="focus.methods such as [grad_cam, smooth_grad]",
    )
    controls: Literal["full", "maps"] = Field(
        default="full", description="focus.controls of 'full' or 'maps'"
    )


class _StudyFile(Schema):
    name: Name = Field(description=f"a name of {NAMES}")
    models: dict[Name, _Model] = Field(
        min_length=1,
        description=f"at least one model, such as 'cnn: {{config: cnn.yaml}}', names of {NAMES}",
    )
    fractions: Annotated[list[Fraction], AfterValidator(_different)] = Field(
        min_length=1, description="fractions such as [0.3, 0.6, 1.0], each in (0, 1],"
    )
    seeds: Annotated[list[Seed], AfterValidator(_different)] = Field(
        min_length=1, description="seeds such as [42, 43, 44]"
    )
    sources: dict[Name, _Source] = Field(
        default={}, description=f"sources such as 'cnn_drawn: {{config: cnn.yaml}}', of {NAMES}"
    )
    data: _Data = _Data()
    overrides: Overrides = None
    vary: Annotated[dict[str, list[Any]] | None, AfterValidator(_one_option)] = Field(
        default=None, description="an option and its values, such as {data.cue.strength: [0, 1]},"
    )
    focus: _Focus = _Focus()
    hypotheses: list[dict[str, Any]] | None = Field(
        default=None, description="a list of mappings as hypotheses"
    )
    results: str | None = Field(default=None, description="a folder as results")
    equal_steps: bool = Field(default=False, description="true or false as equal_steps")

    @model_validator(mode="after")
    def _known_sources(self) -> "_StudyFile":
        for name, model in self.models.items():
            for source in model.start.values():
                if source not in self.sources:
                    raise ValueError(
                        f"expected {name} to start from a source of this study but got "
                        f"'{source}'; {nearest(source, self.sources)}"
                    )
        return self

    @model_validator(mode="after")
    def _few(self) -> "_StudyFile":
        values = sum(map(len, (self.vary or {}).values())) or 1
        cells = len(self.models) * len(self.fractions) * len(self.seeds) * values
        if cells > MOST_CELLS:
            raise ValueError(
                f"expected at most {MOST_CELLS:,} cells but got {cells:,}; leave some out"
            )
        return self


def read_study(path: Path) -> Study:
    """Read a study file.

    Raises:
        UserError: no such file, no mapping, an unknown key, or a value that cannot be.
    """
    file = check(_StudyFile, {"name": path.stem} | read_mapping(path), path)
    where = file.data.data_dir
    return Study(
        path,
        file.name,
        tuple(
            plan
            for name, model in file.models.items()
            for plan in vary(_model(name, model, file, path), file.vary or {})
        ),
        tuple(file.fractions),
        tuple(file.seeds),
        None if where is None else str(path.parent / where),
        _focus(file.focus),
        tuple(file.hypotheses or ()),
        None if file.results is None else path.parent / file.results,
        tuple(_plan(name, source, {}, path) for name, source in file.sources.items()),
        file.equal_steps,
    )


def _focus(asked: _Focus) -> FocusPlan | None:
    if asked.samples is None:
        return None
    return FocusPlan(asked.samples, tuple(asked.methods), asked.controls)


def _model(name: str, model: _Model, study: _StudyFile, path: Path) -> ModelPlan:
    start = {str(part): source for part, source in model.start.items()}
    return replace(_plan(name, model, study.overrides or {}, path), start=start)


def _plan(name: str, model: _Source, overrides: Mapping[str, Any], path: Path) -> ModelPlan:
    files = tuple(find_beside(path.parent, config) for config in model.config)
    for file in files:
        if not file.is_file():
            raise UserError(
                f"expected the config of {name} at {file} but there is no file; paths in "
                f"{path} are relative to it"
            )
    return ModelPlan(name, files, {**overrides, **(model.overrides or {})})


def vary(model: ModelPlan, options: Mapping[str, Sequence[Any]]) -> list[ModelPlan]:
    """Make a model for each value of the option that a study varies.

    >>> [plan.name for plan in vary(ModelPlan("cnn", (), {}), {"data.cue.strength": [0, 0.5]})]
    ['cnn.strength0', 'cnn.strength0.5']
    """
    return [
        replace(
            model,
            name=f"{model.name}.{option.rsplit('.', 1)[-1]}{value}",
            overrides={**model.overrides, option: value},
            varied={"model": model.name, "option": option, "value": value},
        )
        for option, values in options.items()
        for value in values
    ] or [model]


def parse_only(given: Sequence[str]) -> dict[str, set[str | float | int]]:
    """Read ``key=value`` words of ``--only``; values of the same key are alternatives.

    Raises:
        UserError: an unknown key, or a value of another kind.

    >>> parse_only(["model=cnn,seed=42", "seed=43"])
    {'model': {'cnn'}, 'seed': {42, 43}}
    """
    chosen: dict[str, set[str | float | int]] = {}
    for pair in (pair for word in given for pair in word.split(",")):
        key, _, value = pair.partition("=")
        if key not in AXES:
            raise UserError(
                f"expected --only model=, fraction= or seed= but got '{pair}'; {nearest(key, AXES)}"
            )
        try:
            chosen.setdefault(key, set()).add(AXES[key](value))
        except ValueError as error:
            raise UserError(f"expected a number for --only {key} but got '{value}'") from error
    return chosen


def select(jobs: Sequence["Job"], chosen: dict[str, set[str | float | int]]) -> list["Job"]:
    """Keep the chosen cells of a study.

    Raises:
        UserError: there is none.
    """
    kept = [
        job
        for job in jobs
        if all(getattr(job.cell, axis) in values for axis, values in chosen.items())
    ]
    if not kept:
        there = {axis: list(dict.fromkeys(getattr(j.cell, axis) for j in jobs)) for axis in AXES}
        raise UserError(f"expected cells that --only chooses but there is none; there are {there}")
    return kept
