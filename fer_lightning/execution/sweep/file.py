"""A sweep file as W&B reads it, with its mistakes told before anything is trained."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fer_lightning.errors import UserError, nearest
from fer_lightning.execution.study.yaml_file import read_mapping
from fer_lightning.keys import ACC, key

METHODS = ("grid", "random", "bayes")
GOALS = ("maximize", "minimize")
EXAMPLE = "sweeps/learning_rate.yaml"
MOVABLE = ("run_cap", "description", "name", "project", "entity")  # do not change what is searched


@dataclass(frozen=True)
class Sweep:
    """A sweep file.

    Args:
        path: of the file.
        name: of the sweep; it names folders and W&B's group.
        content: everything that stands in the file.
    """

    path: Path
    name: str
    content: Mapping[str, Any] = field(repr=False)

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


def read_sweep(path: Path) -> Sweep:
    """Read a sweep file and check all that can be checked without the command line's parser.

    Raises:
        UserError: no YAML (the line is named), or nothing that W&B would run.
    """
    content = read_mapping(path, EXAMPLE)
    _check_method(content.get("method"), path)
    parameters = content.get("parameters")
    if not isinstance(parameters, dict) or not parameters:
        raise UserError(
            f"expected parameters in {path} but got none; name at least one option of fit, such "
            "as 'model.lr: {values: [0.001, 0.0001]}'"
        )
    for name, how in parameters.items():
        _check_parameter(name, how, path)
    _check_metric(content, path)
    _check_rest(content, path)
    name = str(content.get("name") or path.stem)
    if not re.fullmatch(r"[\w.][\w. -]*", name) or set(name) == {"."}:
        raise UserError(
            f"expected a name for a folder in {path} but got '{name}'; use letters, digits, - and _"
        )
    return Sweep(path, name, content)


def _check_method(method: Any, path: Path) -> None:
    if method not in METHODS:
        raise UserError(
            f"expected a method of search in {path} but got '{method}'; "
            f"{nearest(str(method), METHODS)}"
        )


def _check_parameter(name: Any, how: Any, path: Path) -> None:
    if not isinstance(name, str) or not isinstance(how, dict):
        raise UserError(
            f"expected a mapping for parameter '{name}' of {path} but got {how!r:.60}; write "
            "'{value: ...}', '{values: [...]}' or '{min: ..., max: ...}'"
        )
    if "parameters" in how:
        raise UserError(
            f"expected flat parameters in {path} but '{name}' holds others; write "
            f"'{name}.option' instead"
        )
    given = how.get("values", []) if "values" in how else [how.get("value", 0)]
    if any(value is None for value in _inside(given)):
        raise UserError(
            f"expected values that a command line can carry but '{name}' of {path} has null, "
            'which W&B\'s agents pass on as the word None; write the string "null" instead'
        )


def _inside(value: Any) -> Iterator[Any]:
    """Yield a value and everything that it holds."""
    yield value
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _inside(inner)


def _check_metric(content: Mapping[str, Any], path: Path) -> None:
    metric = content.get("metric")
    needs = "method bayes" if content["method"] == "bayes" else "early_terminate"
    if metric is None:
        if content["method"] == "bayes" or "early_terminate" in content:
            raise UserError(
                f"expected a metric with {needs} in {path} but got none; add "
                "'metric: {name: val/acc, goal: maximize}'"
            )
        return
    if not isinstance(metric, dict) or not isinstance(metric.get("name"), str):
        raise UserError(f"expected the metric's name in {path} but got {metric!r:.60}")
    if metric.get("goal") not in GOALS:  # W&B would minimize an accuracy without a word
        raise UserError(
            f"expected the metric's goal in {path} but got '{metric.get('goal')}'; "
            f"{nearest(str(metric.get('goal')), GOALS)}"
        )


def _check_rest(content: Mapping[str, Any], path: Path) -> None:
    command = content.get("command")
    words = command if isinstance(command, list) else []
    if not words or "${args}" not in words:
        raise UserError(
            f"expected a command in {path} that ends with ${{args}} but got {command!r:.80}; write "
            '["${env}", "${interpreter}", "-m", "fer_lightning.cli", "fit", "--config", '
            '"configs/vit.yaml", "${args}"]'
        )
    if any(str(word).startswith(("--config", "-c=")) for word in words[words.index("${args}") :]):
        raise UserError(
            f"expected --config before ${{args}} in the command of {path} but it comes after; "
            "there it would overrule the sweep"
        )
    cap = content.get("run_cap")
    if cap is not None and (isinstance(cap, bool) or not isinstance(cap, int) or cap < 1):
        raise UserError(f"expected a run_cap of at least 1 in {path} but got {cap!r:.40}")
