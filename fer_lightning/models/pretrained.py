"""A model, or a part of it, from weights that were trained elsewhere, and what came of each."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from fer_lightning.errors import UserError
from fer_lightning.models.adapt import adapt
from fer_lightning.models.base import VisionModel
from fer_lightning.models.weights import compare, read_weights

LEAST_SHARE = 0.5  # of a part's weights that a file must hold to be of the same architecture
HEAD = "head."
UNCOUNTED = "num_batches_tracked"  # of BatchNorm: says nothing about an architecture


def load_pretrained(
    model: VisionModel, path: str, part: str, starts: tuple[str, ...], keep_head: bool = False
) -> dict[str, Any]:
    """Load what a file holds of a part of a model, and say what came of every weight.

    Args:
        model: the model.
        path: the file, see `read_weights`.
        part: the name of the part, for the report.
        starts: how the names of the part's weights begin.
        keep_head: load the head, too.

    Returns:
        Plain values: ``file``, ``sha256``, ``part``; ``loaded`` of ``wanted`` weights; ``adapted``,
        ``other_shape`` (left as they were), each with both shapes; ``missing`` in the file;
        ``unexpected`` in it, of which the model has none.

    Raises:
        UserError: the file cannot be read, or holds less than half of the part's weights.
    """
    own = model.state_dict()
    wanted = {name: value for name, value in own.items() if name.startswith(starts)}
    given = rename(read_weights(path), own, wanted)
    if keep_head:
        wanted |= _head(own, given, path)
    taken = {
        name: fitting
        for name, value in wanted.items()
        if name in given and (fitting := adapt(model, name, given[name], value)) is not None
    }
    counted = [name for name in wanted if not name.endswith(UNCOUNTED)]
    if sum(name in taken for name in counted) < LEAST_SHARE * len(counted):
        relevant = {n: v for n, v in given.items() if n in wanted or n not in own}
        raise UserError(
            f"expected the weights of the {part} of {type(model).__name__} but {path} differs: "
            f"{compare(wanted, relevant)}; choose the model and the sizes that they belong to"
        )
    model.load_state_dict(taken, strict=False)
    shapes = {
        name: f"{list(given[name].shape)} in the file, {list(wanted[name].shape)} in the model"
        for name in wanted
        if name in given and given[name].shape != wanted[name].shape
    }
    return {
        "file": path,
        "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest(),
        "part": part + (" and head" if keep_head else ""),
        "loaded": len(taken),
        "wanted": len(wanted),
        "adapted": {name: text for name, text in shapes.items() if name in taken},
        "other_shape": {name: text for name, text in shapes.items() if name not in taken},
        "missing": [name for name in wanted if name not in given],
        "unexpected": [name for name in given if name not in own],
    }


def rename(
    given: Mapping[str, Tensor], own: Mapping[str, Tensor], wanted: Mapping[str, Tensor]
) -> Mapping[str, Tensor]:
    """Write the names of a file of a part alone, or of a timm backbone, as the model's.

    >>> import torch
    >>> x = torch.zeros(1)
    >>> rename({"conv1.bias": x}, {"stem.conv1.bias": x}, {"stem.conv1.bias": x}).keys()
    dict_keys(['stem.conv1.bias'])
    """
    outer = [f"{name.split('.')[0]}." for name in wanted if "." in name]
    best = max(
        ("", *dict.fromkeys(outer)),
        key=lambda prefix: sum(prefix + name in wanted for name in given),
    )
    return {best + name if best + name in own else name: value for name, value in given.items()}


def _head(own: Mapping[str, Tensor], given: Mapping[str, Tensor], path: str) -> dict[str, Tensor]:
    """Return the head's weights if the file has them in the same shape."""
    head = {name: value for name, value in own.items() if name.startswith(HEAD)}
    if difference := compare(head, {n: v for n, v in given.items() if n.startswith(HEAD)}):
        raise UserError(
            f"expected a head of the same classes in {path} but it differs: {difference}; "
            "set transfer.head to new"
        )
    return head


def tell(report: Mapping[str, Any]) -> str:
    """Say in one line what came from a file.

    >>> lists = {"adapted": {}, "other_shape": {}, "missing": ["norm.bias"], "unexpected": []}
    >>> tell({"loaded": 3, "wanted": 4, "part": "body", "file": "a.pt"} | lists)
    'Weights: 3 of 4 of the body from a.pt; 1 missing in it, left new (norm.bias)'
    """
    told = {
        "adapted": "adapted",
        "other_shape": "of another shape, left new",
        "missing": "missing in it, left new",
        "unexpected": "in it that the model has not",
    }
    counts = [
        f"{len(names)} {text} ({', '.join(names[:3])}{', ...' if names[3:] else ''})"
        for key, text in told.items()
        if (names := list(report[key]))
    ]
    start = f"{report['loaded']} of {report['wanted']} of the {report['part']}"
    return "; ".join([f"Weights: {start} from {report['file']}", *counts])
