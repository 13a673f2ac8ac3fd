"""A sweep file as W&B reads it, with its mistakes named before anything is trained."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from fer_lightning.keys import ACC, key
from fer_lightning.schema import Schema, check, read_mapping

EXAMPLE = "sweeps/learning_rate.yaml"
METRIC = "the metric's name and goal, such as 'metric: {name: val/acc, goal: maximize}'"
COMMAND = (
    "a command that ends with ${args}, such as [${env}, ${interpreter}, -m, fer_lightning.cli, "
    "fit, --config, configs/vit.yaml, ${args}],"
)
# These do not change what is searched; the package `sweeps` does not even know run_cap
MOVABLE = ("run_cap", "description", "name", "project", "entity")


@dataclass(frozen=True)
class Sweep:
    """A sweep file."""

    path: Path  # of the file
    name: str  # of the sweep; it names folders and W&B's group
    content: Mapping[str, Any] = field(repr=False)  # everything that stands in the file

    @property
    def method(self) -> str:
        """How points are chosen: grid, random or bayes."""
        return str(self.content["method"])

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Option of ``fit`` → what it may be, in the order of the file."""
        return self.content["parameters"]

    @property
    def varied(self) -> list[str]:
        """Parameters with more than one value."""
        return [
            name
            for name, how in self.parameters.items()
            if "value" not in how and len(how.get("values", (0, 1))) > 1
        ]

    @property
    def metric(self) -> str:
        """What is compared, as it is logged."""
        return str(self.content.get("metric", {}).get("name", key("val", ACC)))

    @property
    def goal(self) -> Literal["maximize", "minimize"]:
        """Whether more is better."""
        return self.content.get("metric", {}).get("goal", "maximize")

    @property
    def stops_early(self) -> bool:
        """Whether bad runs are ended before their last epoch."""
        return "early_terminate" in self.content

    @property
    def decisive(self) -> dict[str, Any]:
        """What may not change while a sweep goes on."""
        return {name: value for name, value in self.content.items() if name not in MOVABLE}


def _check_parameters(given: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    for name, how in given.items():
        if "parameters" in how:
            raise ValueError(
                f"expected flat parameters but '{name}' holds others; write '{name}.option' instead"
            )
        if None in _inside(how.get("values", how.get("value", 0))):
            raise ValueError(
                f"expected values that a command line can carry but '{name}' has null, which "
                'W&B\'s agents pass on as the word None; write the string "null" instead'
            )
    return given


def _inside(value: Any) -> Iterator[Any]:
    """Yield a value and everything that it holds."""
    yield value
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _inside(inner)


def _check_command(given: list[Any]) -> list[Any]:
    if "${args}" not in given:
        raise ValueError(f"expected {COMMAND} but got {given!r:.80}")
    after = map(str, given[given.index("${args}") :])
    if any(word.startswith(("--config", "-c=")) for word in after):
        raise ValueError(
            "expected --config before ${args} in the command but it comes after; "
            "there it would overrule the sweep"
        )
    return given


class _Open(Schema):
    """Part of a file whose other keys W&B's own schema checks, in `check_search`."""

    model_config = ConfigDict(extra="allow")


class _Metric(_Open):
    name: str = Field(description="the metric's name")
    # W&B would minimize an accuracy without a word
    goal: Literal["maximize", "minimize"] = Field(description="the metric's goal")


class _SweepFile(_Open):
    method: Literal["grid", "random", "bayes"] = Field(description="a method of search")
    parameters: Annotated[dict[str, dict[str, Any]], AfterValidator(_check_parameters)] = Field(
        min_length=1,
        description="parameters such as 'model.lr: {values: [0.001, 0.0001]}' or "
        "'{value: ...}' or '{min: ..., max: ...}',",
    )
    command: Annotated[list[Any], AfterValidator(_check_command)] = Field(description=COMMAND)
    metric: _Metric | None = Field(default=None, description=METRIC)
    name: str = Field(
        pattern=r"^\.*\w[\w. -]*$",
        description="a name for a folder, of letters, digits, - and _,",
    )
    run_cap: int | None = Field(default=None, ge=1, description="a run_cap of at least 1")

    @model_validator(mode="after")
    def _compares(self) -> "_SweepFile":
        early = "early_terminate" if "early_terminate" in (self.model_extra or {}) else ""
        needs = "method bayes" if self.method == "bayes" else early
        if needs and self.metric is None:
            raise ValueError(f"expected a metric with {needs} but got none; add {METRIC}")
        return self


def read_sweep(path: Path) -> Sweep:
    """Read a sweep file and check all that can be checked without the command line's parser.

    Raises:
        UserError: no YAML (the line is named), or nothing that W&B would run.
    """
    content = read_mapping(path, EXAMPLE)
    file = check(_SweepFile, content | {"name": content.get("name") or path.stem}, path)
    return Sweep(path, file.name, content)
