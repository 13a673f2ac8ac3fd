"""YAML files that hold one mapping, in which no key may stand twice."""

from pathlib import Path
from typing import Any

import yaml

from fer_lightning.errors import UserError

MAX_BYTES = 1 << 20


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
