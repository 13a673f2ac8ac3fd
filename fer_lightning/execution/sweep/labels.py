"""Short words for values of parameters, in tables and figures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def label(value: Any) -> str:
    """Write a value as briefly as it can be told from others.

    >>> label("configs/vit.yaml"), label(0.00034567), label(True), label(144)
    ('vit', '0.000346', 'true', '144')
    >>> label({"class_path": "fer_lightning.models.ViT", "init_args": {"patch_size": 4}})
    'ViT patch_size=4'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, Mapping) and "class_path" in value:
        args = value.get("init_args") or {}
        words = [f"{name}={label(inner)}" for name, inner in args.items()]
        return " ".join([str(value["class_path"]).rpartition(".")[2], *words])
    if isinstance(value, Mapping):
        return " ".join(f"{name}={label(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(label, value)) or "none"
    text = str(value)
    return Path(text).stem if text.endswith((".yaml", ".yml")) else text


def short_names(names: list[str]) -> dict[str, str]:
    """Leave out what stands before the last dot, where names stay different.

    >>> short_names(["model.lr", "data.fraction", "model.net.depth", "other.depth"])
    {'model.lr': 'lr', 'data.fraction': 'fraction', 'model.net.depth': 'net.depth', \
'other.depth': 'other.depth'}
    """
    short = {name: name.rpartition(".")[2] for name in names}
    several = {word for word in short.values() if list(short.values()).count(word) > 1}
    return {
        name: ".".join(name.split(".")[-2:]) if word in several else word
        for name, word in short.items()
    }
