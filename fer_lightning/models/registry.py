"""Models by name, and how a checkpoint names the model that it holds."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, TypeVar

import torch

from fer_lightning.errors import UserError, nearest
from fer_lightning.models.base import VisionModel
from fer_lightning.models.shipped_weights import find_shipped, read_half

ENTRY_POINTS = "fer_lightning.models"  # each names a class
MOST_PARAMETERS = 2_000_000_000  # that a checkpoint may ask for
OURS = "fer_lightning."  # how the names of this package's modules begin
Model = TypeVar("Model", bound=type[VisionModel])


@dataclass(frozen=True)
class Entry:
    """What is known of a registered model.

    Args:
        model: its class.
        source: where it is described.
        config: the config file that trains it, inside configs/; empty where there is none.
    """

    model: type[VisionModel]
    source: str
    config: str = ""


MODELS: dict[str, Entry] = {}


def register_model(
    name: str, /, source: str | None = None, config: str = ""
) -> Callable[[Model], Model]:
    """Register a `VisionModel` under a name; command line, checkpoints and tests then know it.

    Args:
        name: letters, digits and _, not taken yet.
        source: where the model is described; the package that it is in where nothing is given.
        config: the config file that trains it, inside configs/.

    Raises:
        UserError: the name is taken by another class, or the class is no `VisionModel`.

    >>> from fer_lightning.models import CNN
    >>> @register_model("wide_cnn", source="an example")
    ... class WideCNN(CNN):
    ...     def __init__(self, num_classes=7, in_chans=1, image_size=48):
    ...         super().__init__(num_classes, in_chans, image_size, widths=(64, 64, 128, 128))
    >>> name_of(create_model("wide_cnn"))
    'wide_cnn'
    >>> _ = MODELS.pop("wide_cnn")
    """
    if not name.isidentifier():
        raise UserError(
            f"expected a model's name of letters, digits and _ but got {name!r:.40}; rename it"
        )

    def register(model: Model) -> Model:
        if not (isinstance(model, type) and issubclass(model, VisionModel)):
            raise UserError(
                f"expected a subclass of VisionModel as model '{name}' but got {model!r:.80}; "
                "derive it from fer_lightning.models.VisionModel"
            )
        if name in MODELS and import_path(MODELS[name].model) != import_path(model):
            raise UserError(f"expected a new name of a model but '{name}' is taken; rename it")
        MODELS[name] = Entry(model, source or model.__module__.split(".")[0], config)
        return model

    return register


def list_models() -> list[str]:
    """Return the names of all registered models, those of other packages included.

    >>> "vit" in list_models()
    True
    """
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name not in MODELS:
            model = entry.load()
            if entry.name not in MODELS:  # importing it did not register it
                register_model(entry.name)(model)
    return list(MODELS)


def find_model(name: str) -> type[VisionModel]:
    """Return a model's class by its registered name.

    A class that nobody registered is found by its import path (``my_package.MyNet``) or its name
    in snake case (``my_net``), if its module has been imported: nothing is imported here.

    Raises:
        UserError: there is none.
    """
    known = [name] if name in MODELS else list_models()
    if name in known:
        return MODELS[name].model
    found = [kind for kind in _unregistered() if name in (import_path(kind), snake_case(kind))]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(
            f"expected the name of a model but got '{name}', which {len(found)} classes have; "
            f"use one of {', '.join(map(import_path, found))}"
        )
    hint = nearest(name, known)
    if "." in name:
        hint = "register it first: import its module, or decorate its class with register_model"
    raise UserError(f"expected the name of a model but got '{name}'; {hint}")


def _unregistered() -> Iterator[type[VisionModel]]:
    """Yield each class outside this package that could be a model and has no name."""
    named = {entry.model for entry in MODELS.values()}
    newest = {import_path(kind): kind for kind in _subclasses(VisionModel)}  # a cell run twice
    for kind in newest.values():
        if kind not in named and not inspect.isabstract(kind):
            yield kind


def _subclasses(kind: Any) -> Iterator[type[VisionModel]]:
    for below in kind.__subclasses__():
        if not below.__module__.startswith(OURS):
            yield below
        yield from _subclasses(below)


def import_path(model: type[VisionModel]) -> str:
    """Return where a class is defined: ``fer_lightning.models.cnn.CNN``."""
    return f"{model.__module__}.{model.__qualname__}"


def snake_case(model: type[VisionModel]) -> str:
    """Return the name of a class as an option's value.

    >>> snake_case(type("SmallCNN2", (), {}))
    'small_cnn2'
    """
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", model.__name__)
    return split.lower()


def create_model(name: str, /, **kwargs: Any) -> VisionModel:
    """Make a model by its name.

    ``pretrained=True`` loads the weights that come with the package (docs/model_card.md); models
    of timm have an argument of that name of their own.

    Raises:
        UserError: no such model, the model has no such argument, or no weights come with it.

    >>> create_model("vit", depth=2).init_args["depth"]
    2
    >>> create_model("flagship", pretrained=True).scale is not None
    True
    """
    model = find_model(name)
    known = [p for p in inspect.signature(model.__init__).parameters if p != "self"]
    pretrained = "pretrained" not in known and kwargs.pop("pretrained", False)
    for argument in kwargs:
        if argument not in known:
            raise UserError(
                f"expected an argument of model '{name}' ({', '.join(known)}) but got "
                f"'{argument}'; {nearest(argument, known)}"
            )
    made = model(**kwargs)
    if pretrained:
        _load_shipped(made, name)
    return made


def _load_shipped(model: VisionModel, name: str) -> None:
    weights, about = read_half(find_shipped(name))
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        made_with = about["net"]["init_args"]
        raise UserError(
            f"expected the sizes that the weights of '{name}' have ({made_with}) but got "
            f"{model.init_args}; leave these arguments out, or pretrained"
        ) from error
    model.set_scale(**scale_of(about["net"]))


build = create_model  # its name of before


def name_of(model: VisionModel) -> str:
    """Return the name under which a model's class is registered, else the class's in snake case.

    >>> name_of(create_model("cnn"))
    'cnn'
    """
    name = _registered(model) or snake_case(type(model))
    return import_path(type(model)) if name in MODELS and not _registered(model) else name


def _registered(model: VisionModel) -> str | None:
    return next((name for name, entry in MODELS.items() if entry.model is type(model)), None)


def default_args(model: VisionModel) -> dict[str, Any]:
    """Return the defaults of the arguments that a model's class takes, as plain values.

    >>> default_args(create_model("cnn", dropout=0.1))["dropout"]
    0.5
    """
    known = inspect.signature(type(model).__init__).parameters
    return {k: _plain(p.default) for k, p in known.items() if p.default is not p.empty}


def describe(model: VisionModel) -> dict[str, Any]:
    """Return a model's name, arguments and scale as plain values, enough for `rebuild`.

    A model that nobody registered is named by its import path.

    >>> describe(create_model("cnn", dropout=0.1))["init_args"]["dropout"]
    0.1
    """
    name = _registered(model) or import_path(type(model))
    scale = {} if model.scale is None else {"scale": model.scale}
    return {"name": name, "init_args": _plain(model.rebuild_args()), **scale}


def rebuild(description: dict[str, Any], most: int = MOST_PARAMETERS) -> VisionModel:
    """Make a new, untrained model from a description, which may come from an untrusted file.

    Only names of models that are registered or imported and plain values are accepted: nothing is
    imported and nothing is read.

    Args:
        description: as `describe` writes it.
        most: parameters that it may ask for.

    Raises:
        UserError: the description is not one that `describe` writes, or asks for more.

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
    for argument in find_model(name).fetching:
        if args.get(argument):
            raise UserError(
                f"expected a description that fetches nothing but got {argument}="
                f"{args[argument]!r:.80}; the checkpoint was not written by this program"
            )
    try:
        with torch.device("meta"):  # takes no memory
            size = sum(p.numel() for p in create_model(name, **args).parameters())
    except (TypeError, RuntimeError, OverflowError) as error:
        raise UserError(
            f"expected arguments of model '{name}' but got {args!r:.80}, which cannot be built "
            f"({error}); the checkpoint is damaged"
        ) from error
    if size > most:
        raise UserError(
            f"expected a model of at most {most:,} parameters but the description asks "
            f"for {size:,}; the checkpoint is damaged"
        )
    model = create_model(name, **args)
    model.set_scale(**scale_of(description))
    return model


def scale_of(description: Mapping[str, Any]) -> dict[str, list[float]]:
    """Read the scale of a description as arguments of `VisionModel.set_scale`; {} for [0, 1].

    Raises:
        UserError: something else stands there.

    >>> scale_of({"scale": {"mean": [0.5], "std": [0.2]}}), scale_of({"name": "vit"})
    ({'mean': [0.5], 'std': [0.2]}, {})
    """
    match description.get("scale"):
        case None:
            return {}
        case {"mean": list(mean), "std": list(std)} if all(
            isinstance(value, float) for value in (*mean, *std)
        ):
            return {"mean": mean, "std": std}
        case other:
            raise UserError(
                f"expected the mean and std of pixels as a model's scale but got {other!r:.80}; "
                "the checkpoint was not written by this program"
            )


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
