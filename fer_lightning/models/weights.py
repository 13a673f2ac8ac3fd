"""Weights from files that may be of another model, damaged or hostile."""

import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError

CONTAINERS = ("state_dict_ema", "state_dict", "model_ema", "model")  # keys that hold the weights
NET = "net."  # of the model's weights inside the LightningModule's


def read_weights(path: str | Path) -> dict[str, Tensor]:
    """Read a safetensors file or a torch checkpoint of weights; no code in it is executed.

    Of a checkpoint of a training only the model's weights are returned.

    Raises:
        UserError: there is no such file, or it does not hold weights only.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"expected a file of weights but there is none at {path}; check the path")
    content = _read_safetensors(path) if path.suffix == ".safetensors" else _read_torch(path)
    for container in CONTAINERS:
        if isinstance(content, Mapping) and isinstance(content.get(container), Mapping):
            content = content[container]
            break
    if not isinstance(content, Mapping) or not content:
        raise UserError(f"expected named weights but got {type(content).__name__} in {path}")
    for key, value in content.items():
        if not isinstance(key, str) or not isinstance(value, Tensor):
            raise UserError(
                f"expected named weights but got {type(value).__name__} under {key!r:.40} in {path}"
            )
    return inner_model(strip_prefixes(content))


def inner_model(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the model's weights of a checkpoint of a training, whose model is called ``net``.

    >>> inner_model({"net.head.bias": torch.zeros(1), "loss.weight": torch.zeros(1)}).keys()
    dict_keys(['head.bias'])
    """
    inside = {k.removeprefix(NET): v for k, v in state_dict.items() if k.startswith(NET)}
    return inside or dict(state_dict)


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except SafetensorError as error:
        raise UserError(f"expected a safetensors file but {path} is none ({error})") from error


def _read_torch(path: Path) -> Any:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise UserError(
            f"expected weights only, but {path} holds other objects, which could execute code, or "
            "is no torch checkpoint; save the model's state_dict() or use safetensors"
        ) from error
    except (RuntimeError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(
            f"expected a torch checkpoint but {path} is damaged or of another kind; fetch it again"
        ) from error


def strip_prefixes(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Remove what torch.compile and data parallelism put before the names of weights.

    >>> strip_prefixes({"module._orig_mod.head.bias": torch.zeros(1)}).keys()
    dict_keys(['head.bias'])
    """
    names = {key: key.replace("_orig_mod.", "") for key in state_dict}
    while names and all(name.startswith("module.") for name in names.values()):
        names = {key: name.removeprefix("module.") for key, name in names.items()}
    return {name: state_dict[key] for key, name in names.items()}


def load_weights(model: nn.Module, state_dict: Mapping[str, Tensor], origin: str) -> None:
    """Load all weights of a model, or none and say what does not fit.

    Args:
        model: the model, compiled in place or not.
        state_dict: its weights, with or without the prefixes that `strip_prefixes` removes.
        origin: where the weights come from, for the message.

    Raises:
        UserError: names or shapes differ.

    >>> one, other = nn.Linear(2, 1), nn.Linear(2, 1)
    >>> load_weights(one, other.state_dict(), "a file")
    >>> bool((one.weight == other.weight).all())
    True
    """
    given = strip_prefixes(state_dict)
    difference = compare(model.state_dict(), given)
    if difference:
        raise UserError(
            f"expected the weights of {type(model).__name__} but {origin} differs: {difference}; "
            "choose the model that they belong to"
        )
    model.load_state_dict(given)


def compare(wanted: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> str:
    """Say how many weights are missing, unexpected or of another shape; "" when all fit.

    >>> compare({"a": torch.zeros(1), "b": torch.zeros(2)}, {"b": torch.zeros(2)})
    '1 missing (a)'
    """
    missing = [name for name in wanted if name not in given]
    unexpected = [name for name in given if name not in wanted]
    shapes = [
        f"{name}: {list(given[name].shape)}, not {list(wanted[name].shape)}"
        for name in wanted
        if name in given and given[name].shape != wanted[name].shape
    ]
    kinds = {"missing": missing, "unexpected": unexpected, "of another shape": shapes}
    return ", ".join(
        f"{len(names)} {kind} ({names[0]}{', ...' if names[1:] else ''})"
        for kind, names in kinds.items()
        if names
    )
