"""What users type, made convenient: short model names in, clear sentences out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from jsonargparse import ArgumentError

from fer_lightning.errors import UserError, nearest
from fer_lightning.models import MODELS

NET = "--model.net"
CONFIG = ("--config", "-c")


def with_class_paths(argv: list[str]) -> list[str]:
    """Write out the names of models: ``--model.net=vit`` and ``--model.net vit``.

    >>> with_class_paths(["fit", "--model.net=vit", "--model.net.depth=2"])
    ['fit', '--model.net=fer_lightning.models.vit.ViT', '--model.net.depth=2']
    """
    full = list(argv)
    for place, word in enumerate(argv):
        if word.startswith(f"{NET}="):
            full[place] = f"{NET}={_class_path(word.removeprefix(f'{NET}='))}"
        elif place and argv[place - 1] == NET:
            full[place] = _class_path(word)
    return full


def _class_path(name: str) -> str:
    if "." in name or name in (model.__name__ for model in MODELS.values()):
        return name
    if name not in MODELS:
        raise UserError(f"expected the name of a model but got '{name}'; {nearest(name, MODELS)}")
    return f"{MODELS[name].__module__}.{MODELS[name].__name__}"


def check_configs(argv: list[str]) -> None:
    """Name the file and the line of a config that is no YAML; the parser names neither."""
    for place, word in enumerate(argv):
        name = argv[place - 1] + "=" + word if place and argv[place - 1] in CONFIG else word
        option, _, path = name.partition("=")
        if option in CONFIG and Path(path).is_file():
            try:
                yaml.safe_load(Path(path).read_text())
            except (yaml.YAMLError, UnicodeDecodeError) as error:
                raise UserError(f"expected YAML in {path} but {_one_line(error)}") from error


@contextmanager
def user_errors() -> Iterator[None]:
    """Turn the parser's complaints into one sentence."""
    try:
        yield
    except ArgumentError as error:
        if str(error).endswith("model.net"):
            raise UserError(
                "expected a model but got none; give --config configs/vit.yaml, or --model.net "
                f"with one of {', '.join(MODELS)}"
            ) from error
        raise UserError(_one_line(error)) from error
    except ValueError as error:
        # an option that may be left out: the parser wraps the sentence in a list of types it tried
        if isinstance(error, UserError) or not isinstance(error.__cause__, UserError):
            raise
        raise error.__cause__ from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
