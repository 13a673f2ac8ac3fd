"""Backbones of timm by name, without their classifier, with or without published weights."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from fer_lightning.errors import UserError, nearest
from fer_lightning.models.weights import compare, read_weights


def pretrained_config(name: str) -> Any:
    """Return what timm knows of a backbone: input size, mean, std, classifier.

    Raises:
        UserError: timm has no such backbone.

    >>> pretrained_config("resnet18").input_size
    (3, 224, 224)
    """
    import timm  # slow to import

    if not isinstance(name, str) or not timm.is_model(name):
        raise UserError(
            f"expected the name of a timm backbone but got '{name}'; "
            f"{_suggest(str(name), timm.list_models())}"
        )
    architecture, _, tag = name.partition(".")
    tags = [n.partition(".")[2] for n in timm.list_pretrained(f"{architecture}.*")]
    if tag and tag not in tags:
        raise UserError(
            f"expected published weights of '{architecture}' but got '{tag}'; {nearest(tag, tags)}"
        )
    return timm.get_pretrained_cfg(name)


def create_backbone(
    name: str,
    in_chans: int,
    size: int,
    pretrained: bool = False,
    weights: str | None = None,
) -> Any:
    """Make a backbone that returns its feature vector.

    Args:
        name: timm's name.
        in_chans: channels that it takes.
        size: height and width in pixels that it takes.
        pretrained: load the weights that timm publishes.
        weights: load the weights in this file instead.

    Raises:
        UserError: the weights cannot be had or belong to another architecture, or the backbone
            cannot take images of this size.
    """
    config = pretrained_config(name)
    kwargs: dict[str, Any] = {"in_chans": in_chans, "num_classes": config.num_classes}
    if config.fixed_input_size:
        kwargs["img_size"] = size
    if weights is not None:
        backbone = _from_file(name, kwargs, config, weights)
    elif pretrained:
        backbone = _from_timm(name, kwargs, config)
    else:
        backbone = _create(name, size, kwargs)
    backbone.reset_classifier(0)
    return backbone


def _create(name: str, size: int, kwargs: Mapping[str, Any]) -> Any:
    import timm

    try:
        return timm.create_model(name, **kwargs)
    except (AssertionError, ValueError, ZeroDivisionError) as error:
        raise UserError(
            f"expected images that {name} can take but got {size}x{size} pixels ({error}); "
            "give another input_size"
        ) from error


def _from_timm(name: str, kwargs: Mapping[str, Any], config: Any) -> Any:
    import timm
    from huggingface_hub.errors import HfHubHTTPError

    if not config.has_weights:
        raise UserError(
            f"expected a backbone with published weights but timm has none for {name}; "
            "set pretrained to false or give a local file by weights="
        )
    try:
        return timm.create_model(name, pretrained=True, **kwargs)
    except (OSError, HfHubHTTPError) as error:
        raise UserError(
            f"expected to fetch the weights of {name} but there is no network or no such file; "
            "fetch them elsewhere and give the local file by weights="
        ) from error


def _from_file(name: str, kwargs: dict[str, Any], config: Any, path: str) -> Any:
    import timm

    given = read_weights(path)
    if any(key.startswith("backbone.") for key in given):  # a model of ours around a backbone
        given = {k.removeprefix("backbone."): v for k, v in given.items() if k[:9] == "backbone."}
    names = [config.classifier] if isinstance(config.classifier, str) else config.classifier or []
    head = next((given[f"{n}.weight"] for n in names if f"{n}.weight" in given), None)
    kwargs["num_classes"] = 0 if head is None else len(head)  # so that timm loads strictly
    with torch.device("meta"):
        wanted: dict[str, Tensor] = timm.create_model(name, **kwargs).state_dict()
    overlay = {"state_dict": given, "num_classes": kwargs["num_classes"], "custom_load": False}
    try:
        if len(wanted.keys() & given.keys()) < len(wanted) / 2:
            raise RuntimeError("timm's converters of older namings expect the right family")
        backbone: Any = timm.create_model(
            name, pretrained=True, pretrained_cfg_overlay=overlay, **kwargs
        )
    except RuntimeError as error:  # also from load_state_dict
        raise UserError(
            f"expected the weights of {name} in timm's naming but {path} differs: "
            f"{compare(wanted, given)}; choose the backbone that they belong to"
        ) from error
    backbone.pretrained_cfg.pop("state_dict")  # else each copy of the model would carry it
    return backbone


def _suggest(name: str, known: list[str]) -> str:
    """Suggest a near name, but do not list all of timm's."""
    hint = nearest(name, known)
    return hint if hint.startswith("did") else "timm.list_models() names them all"
