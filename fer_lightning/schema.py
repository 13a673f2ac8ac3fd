"""YAML files that hold one mapping, in which no key may stand twice, and their schemas."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from fer_lightning.errors import UserError, nearest

MAX_BYTES = 1 << 20


class Schema(BaseModel):
    """A mapping of a file: no other keys, no guessed types; an empty one counts as ``{}``.

    A field's description says what is expected, in the words of an error message.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _empty(cls, given: Any) -> Any:
        return {} if given is None else given


S = TypeVar("S", bound=Schema)


class UniqueKeys(yaml.SafeLoader):
    """Refuses a mapping with the same key twice, of which YAML would keep the last.

    >>> yaml.load("a: 1", UniqueKeys)
    {'a': 1}
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Compare the keys as they are written."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key '{key.value}' stands there twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_mapping(path: Path, example: str = "configs/study/drawn_faces.yaml") -> dict[Any, Any]:
    """Read a YAML file.

    Args:
        path: of the file.
        example: a good file of its kind.

    Raises:
        UserError: no such file, too large, no YAML, no mapping, or a key that stands twice.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(
            f"expected a file at {path} but {error.strerror}; check the path"
        ) from error
    if len(data) > MAX_BYTES:
        raise UserError(f"expected at most {MAX_BYTES:,} bytes in {path} but it has more")
    try:
        content = yaml.load(data, UniqueKeys)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"expected YAML in {path} but {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise UserError(
            f"expected a mapping in {path} but got {type(content).__name__}; start from {example}"
        )
    return content


def check(schema: type[S], content: Mapping[Any, Any], where: Path | None, **context: Any) -> S:
    """Read a mapping by its schema.

    Args:
        schema: what is expected.
        content: what is there.
        where: the file, named in the error.
        context: what validators need to know.

    Raises:
        UserError: the first mistake, in one sentence.

    >>> from pydantic import Field
    >>> class Point(Schema):
    ...     width: int = Field(description="a width of at least 1", ge=1)
    >>> check(Point, {"width": 3}, Path("a.yaml"))
    Point(width=3)
    >>> check(Point, {"width": 0}, Path("a.yaml"))
    Traceback (most recent call last):
    fer_lightning.errors.UserError: a.yaml: expected a width of at least 1 but got 0
    """
    try:
        return schema.model_validate(content, context=context)
    except ValidationError as error:
        words = _sentence(schema, error.errors()[0])
        raise UserError(words if where is None else f"{where}: {words}") from error


def _sentence(schema: type[BaseModel], error: Any) -> str:
    """Say in our words what pydantic found."""
    kind, place, given = error["type"], error["loc"], error["input"]
    if kind == "value_error":  # of our own validators, which write whole sentences
        return str(error["ctx"]["error"])
    dotted, expected, inside = ".".join(map(str, place)) or "it", "", ""
    for part in place:
        field = schema.model_fields.get(str(part))
        inside = f" as {dotted}"
        if field is not None:
            expected, inside = field.description or "", ""
            schema = _inner(field.annotation) or schema
    if kind == "extra_forbidden":
        known = nearest(str(place[-1]), schema.model_fields)
        return f"expected a known key but got '{dotted}'; {known}"
    if kind == "missing":
        return f"expected {expected or dotted} but got none; add '{dotted}'"
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        return f"expected {expected} but got {given!r:.60}; {nearest(str(given), choices)}"
    if not expected and kind in ("dict_type", "model_type"):
        name = type(given).__name__
        return f"expected a mapping as {dotted} but got {name}; write 'key: value' lines below it"
    return f"expected {expected or dotted} but got {given!r:.80}{inside}"


def _inner(annotation: Any) -> type[BaseModel] | None:
    """Find the schema within a field's type, such as a mapping of names to it."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_inner, get_args(annotation))), None)
