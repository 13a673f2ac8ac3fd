"""YAML files that hold one mapping, in which no key may stand twice, and their schemas."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from fer_lightning.errors import UserError, nearest

MAX_BYTES = 1 << 20
MAX_NODES = 20_000  # values of a file, each alias counted as what it stands for; a run's has 300
MAX_DEPTH = 50  # mappings and lists inside each other


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
    """Refuses a mapping with the same key twice, of which YAML would keep the last, and bombs.

    A few aliases of aliases stand for more values than any memory holds.

    >>> yaml.load("a: 1", UniqueKeys)
    {'a': 1}
    """

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.nodes = self.depth = 0
        self.sizes: dict[yaml.Node, int] = {}  # values that an anchor stands for

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Count values and levels."""
        before, mark = self.nodes, self.peek_event().start_mark
        is_alias = self.check_event(yaml.AliasEvent)
        self.nodes, self.depth = self.nodes + 1, self.depth + 1
        if self.depth > MAX_DEPTH:
            raise yaml.composer.ComposerError(
                None, None, f"more than {MAX_DEPTH} mappings or lists stand inside each other", mark
            )
        node = super().compose_node(parent, index)
        if is_alias and node is not None:
            self.nodes += self.sizes.get(node, MAX_NODES)  # one that holds itself has no size yet
        elif node is not None:
            self.sizes[node] = self.nodes - before
        if self.nodes > MAX_NODES:
            raise yaml.composer.ComposerError(
                None, None, f"it stands for more than {MAX_NODES:,} values", mark
            )
        self.depth -= 1
        return node

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


def read_yaml(path: Path, most_bytes: int = MAX_BYTES) -> Any:
    """Read a YAML file of any content.

    Raises:
        UserError: no such file, too large, no YAML, a key that stands twice, or a bomb.
    """
    try:
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise UserError(
            f"expected a file at {path} but {error.strerror}; check the path"
        ) from error
    if len(data) > most_bytes:
        raise UserError(f"expected at most {most_bytes:,} bytes in {path} but it has more")
    try:
        return yaml.load(data, UniqueKeys)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, AttributeError) as error:
        raise UserError(
            f"expected YAML in {path} but {' '.join(str(error).split()):.300}"
        ) from error


def read_mapping(path: Path, example: str = "configs/study/drawn_faces.yaml") -> dict[Any, Any]:
    """Read a YAML file.

    Args:
        path: of the file.
        example: a good file of its kind.

    Raises:
        UserError: as `read_yaml`, or no mapping.
    """
    content = read_yaml(path)
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
