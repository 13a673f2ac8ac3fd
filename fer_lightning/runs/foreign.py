"""What comes from a folder that somebody else may have written: names, links, classes.

A config given to ``fit`` is code: it names classes, which are imported and called. A run folder, a
folder of results and a checkpoint are data: nothing of them is run, and nothing is written through
them to another place.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fer_lightning.errors import UserError
from fer_lightning.runs.files import read_config

LONGEST_NAME = 80  # characters of a file name that comes from elsewhere
TRUSTED = ("fer_lightning", "lightning", "torch")  # packages whose classes a run folder may name
CLASSES = ("net", "callbacks", "logger", "profiler", "strategy", "plugins")  # options of classes


def file_name(text: str) -> str:
    """Make a name that comes from a file or a user into a file's: no folder, nothing hidden.

    Names that must be changed for that get a hash, so that different ones stay different.

    >>> file_name("vit.strength0.5"), file_name("../../etc/cron")
    ('vit.strength0.5', '______etc_cron-51543aa5')
    """
    plain = re.sub(r"[^A-Za-z0-9_.=+-]", "_", text).replace("..", "__")[:LONGEST_NAME]
    plain = re.sub(r"^[.-]", "_", plain) or "_"
    if plain == text:
        return plain
    return f"{plain}-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:8]}"


def own_folder(path: Path) -> Path:
    """Make a folder unless it is there.

    Raises:
        UserError: a link stands there: what is written would land elsewhere.
    """
    if path.is_symlink():
        raise UserError(
            f"expected a folder at {path} but it is a link to another place; remove the link"
        )
    path.mkdir(parents=True, exist_ok=True)
    return path


def foreign_classes(config: Any, name: str = "") -> list[str]:
    """Name the classes of other packages that a configuration would import.

    >>> foreign_classes({"model": {"net": {"class_path": "torch.nn.Linear"}}})
    []
    >>> foreign_classes({"trainer": {"callbacks": [{"class_path": "evil.Code"}]}})
    ['evil.Code']
    """
    if isinstance(config, dict):
        return [path for key, value in config.items() for path in foreign_classes(value, str(key))]
    if isinstance(config, list):
        return [path for value in config for path in foreign_classes(value, name)]
    path = str(config)
    # a path with dots stands for a class also without the word class_path
    looks_so = name == "class_path" or (name in CLASSES and "." in path)
    return [path] if looks_so and path.partition(".")[0] not in TRUSTED else []


def check_classes(config: Path, known: Sequence[str] = ()) -> None:
    """Refuse a run folder's configuration that would import other packages' code.

    Args:
        config: its config.yaml.
        known: classes of other packages that the user named elsewhere.

    Raises:
        UserError: it would, or it is damaged.
    """
    found = [path for path in foreign_classes(read_config(config)) if path not in known]
    if found:
        raise UserError(
            f"expected classes of {', '.join(TRUSTED)} in {config} but it names {found[0]:.80}; "
            "what a folder of runs names is not imported unless a study says --trust"
        )
