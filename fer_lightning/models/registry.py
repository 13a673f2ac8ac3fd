"""Models by name, and how a checkpoint names the model that it holds."""

import inspect
from dataclasses import dataclass
from typing import Any

import torch

from fer_lightning.errors import UserError, nearest
from fer_lightning.models.apvit import APViT, APViT112
from fer_lightning.models.base import VisionModel
from fer_lightning.models.cnn import CNN
from fer_lightning.models.hybrid_vit import HybridViT
from fer_lightning.models.simple_cnn import SimpleCNN
from fer_lightning.models.small_resnet import SmallResNet
from fer_lightning.models.swin import Swin
from fer_lightning.models.timm_backbone import Timm
from fer_lightning.models.vit import ViT, ViTTiny


@dataclass(frozen=True)
class Entry:
    """What is known of a registered model.

    Args:
        model: its class.
        source: where it is described.
        config: the config file that trains it, inside configs/.
    """

    model: type[VisionModel]
    source: str
    config: str


ENTRIES: dict[str, Entry] = {
    "cnn": Entry(CNN, "The Inductive Bias Gap", "cnn.yaml"),
    "vit": Entry(ViT, "The Inductive Bias Gap", "vit.yaml"),
    "swin": Entry(Swin, "The Inductive Bias Gap", "swin.yaml"),
    "hybrid_vit": Entry(HybridViT, "The Inductive Bias Gap (outlook)", "hybrid_vit.yaml"),
    "vit_tiny": Entry(ViTTiny, "Patches vs Pixels", "cifar/vit_tiny.yaml"),
    "simple_cnn": Entry(SimpleCNN, "Patches vs Pixels", "cifar/simple_cnn.yaml"),
    "small_resnet": Entry(SmallResNet, "Patches vs Pixels", "cifar/small_resnet.yaml"),
    "apvit": Entry(APViT, "APViT, at 48x48", "apvit.yaml"),
    "apvit_112": Entry(APViT112, "APViT", "apvit_112.yaml"),
    "timm": Entry(Timm, "any timm backbone; here resnet18", "timm.yaml"),
}
MOST_PARAMETERS = 2_000_000_000  # that a checkpoint may ask for
MODELS: dict[str, type[VisionModel]] = {name: entry.model for name, entry in ENTRIES.items()}


def build(name: str, /, **kwargs: Any) -> VisionModel:
    """Make a model by its name.

    Raises:
        UserError: no such model, or the model has no such argument.

    >>> build("vit", depth=2).init_args["depth"]
    2
    """
    if name not in MODELS:
        raise UserError(f"expected the name of a model but got '{name}'; {nearest(name, MODELS)}")
    known = [p for p in inspect.signature(MODELS[name].__init__).parameters if p != "self"]
    for argument in kwargs:
        if argument not in known:
            raise UserError(
                f"expected an argument of model '{name}' ({', '.join(known)}) but got "
                f"'{argument}'; {nearest(argument, known)}"
            )
    return MODELS[name](**kwargs)


def name_of(model: VisionModel) -> str:
    """Return the name under which the model's class is registered.

    >>> name_of(CNN())
    'cnn'
    """
    for name, kind in MODELS.items():
        if type(model) is kind:
            return name
    raise UserError(
        f"expected a registered model ({', '.join(MODELS)}) but got {type(model).__name__}; "
        "add it to ENTRIES in fer_lightning/models/registry.py"
    )


def describe(model: VisionModel) -> dict[str, Any]:
    """Return a model's name and arguments as plain values, enough for `rebuild`.

    >>> describe(CNN(dropout=0.1))["init_args"]["dropout"]
    0.1
    """
    return {"name": name_of(model), "init_args": _plain(model.rebuild_args())}


def rebuild(description: dict[str, Any]) -> VisionModel:
    """Make a new, untrained model from a description, which may come from an untrusted file.

    Only registered names and plain values are accepted: nothing is imported and nothing is read.

    Raises:
        UserError: the description is not one that `describe` writes.

    >>> type(rebuild({"name": "cnn", "init_args": {"num_classes": 3}}))
    <class 'fer_lightning.models.cnn.CNN'>
    """
    match description:
        case {"name": str(name), "init_args": dict(args)}:
            args = _plain(args)
        case _:
            raise UserError(
                "expected a model's description with 'name' and 'init_args' but got "
                f"{description!r:.80}; the checkpoint was not written by this program"
            )
    for argument in getattr(MODELS.get(name), "fetching", ()):
        if args.get(argument):
            raise UserError(
                f"expected a description that fetches nothing but got {argument}="
                f"{args[argument]!r:.80}; the checkpoint was not written by this program"
            )
    try:
        with torch.device("meta"):  # takes no memory
            size = sum(p.numel() for p in build(name, **args).parameters())
    except (TypeError, RuntimeError, OverflowError) as error:
        raise UserError(
            f"expected arguments of model '{name}' but got {args!r:.80}, which cannot be built "
            f"({error}); the checkpoint is damaged"
        ) from error
    if size > MOST_PARAMETERS:
        raise UserError(
            f"expected a model of at most {MOST_PARAMETERS:,} parameters but the description asks "
            f"for {size:,}; the checkpoint is damaged"
        )
    return build(name, **args)


def _plain(value: Any, levels: int = 3) -> Any:
    """Return a copy of numbers, strings, None and lists, tuples and dicts of these; else raise."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple() if levels:
            return [_plain(v, levels - 1) for v in value]
        case dict() if levels and all(isinstance(key, str) for key in value):
            return {key: _plain(v, levels - 1) for key, v in value.items()}
    raise UserError(
        f"expected plain values as a model's arguments but got {type(value).__name__}; "
        "use numbers, strings and lists of them"
    )
