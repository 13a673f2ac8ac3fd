"""Weights in half precision with what they are: the format, and those that come with the package.

A safetensors file holds the weights as float16 and, as its metadata, the description that a
checkpoint carries: version, model, classes, data set. Nothing in it can execute code.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from fer_lightning.errors import UserError, nearest

FOLDER = Path(__file__).with_name("shipped")
SUFFIX = ".safetensors"
ENTRY = "fer_lightning"  # of a file's metadata
LONGEST = 100_000  # characters of a description


def shipped() -> dict[str, Path]:
    """Return the files of weights that come with the package, by the name of their model.

    >>> "flagship" in shipped()
    True
    """
    return {path.stem: path for path in sorted(FOLDER.glob(f"*{SUFFIX}"))}


def find_shipped(name: str) -> Path:
    """Return the file of a model's weights.

    Raises:
        UserError: none are shipped for it.
    """
    known = shipped()
    if name not in known:
        raise UserError(
            f"expected a model whose weights come with the package but got '{name}'; "
            f"{nearest(name, list(known))}"
        )
    return known[name]


def write_half(path: Path, weights: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write weights as float16 (counters as they are) with their description."""
    half = {
        name: (value.half() if value.is_floating_point() else value).detach().cpu().contiguous()
        for name, value in weights.items()
    }
    save_file(half, path, {ENTRY: json.dumps(about)})


def read_half(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read weights as float32, and their description.

    Raises:
        UserError: the file is damaged, or was not written by `write_half`.
    """
    try:
        with safe_open(path, "pt") as file:
            text = (file.metadata() or {}).get(ENTRY, "")
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = json.loads(text[:LONGEST])
    except (SafetensorError, ValueError, RecursionError, OSError) as error:
        raise UserError(
            f"expected weights with their description but {path} is damaged or has none; "
            "write it with fer-lightning export --format=safetensors"
        ) from error
    if not isinstance(about, dict):
        raise UserError(
            f"expected a description of the weights but {path} has {about!r:.40}; it is damaged"
        )
    return {
        name: value.float() if value.dtype == torch.float16 else value
        for name, value in weights.items()
    }, about
