"""From the point of a sweep to the whole configuration of its run."""

import inspect
from collections.abc import Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from fer_lightning.commands.resolve import resolve, resolver
from fer_lightning.errors import UserError, nearest
from fer_lightning.lit.losses import AdaptiveWeighting, AttentionRegulariser
from fer_lightning.sweep.file import Sweep
from fer_lightning.sweep.search import corners
from fer_lightning.tracking.sweep_command import expand

FIT = "fit"
LOSSES = {"regulariser": AttentionRegulariser, "weighting": AdaptiveWeighting}
DECIDES_OTHERS = ("config", "model.net")  # parameters on which it depends what options there are


def fit_options(sweep: Sweep, point: dict[str, Any]) -> list[str]:
    """Return the options of ``fit`` in the command of a sweep file, written out for one point.

    Raises:
        UserError: the command is not ``fer_lightning.cli fit`` or ``fer-lightning fit``.
    """
    words = expand(sweep.content.get("command"), point)
    for place, word in enumerate(words[1:], 1):
        before = Path(words[place - 1]).name
        if word == FIT and before in ("fer_lightning.cli", "fer-lightning", "cli.py"):
            return words[place + 1 :]
    raise UserError(
        f"expected a command in {sweep.path} that runs 'fer_lightning.cli fit' but got "
        f"'{' '.join(map(str, words))[:120]}'; a local sweep runs nothing else"
    )


def configuration(sweep: Sweep, point: dict[str, Any], data: str | None = None) -> dict[str, Any]:
    """Return the whole configuration of a run.

    W&B shows the runs of a sweep as a group, also when they are synced later.

    Args:
        sweep: the sweep file.
        point: option → value.
        data: the images, instead of what the file says.

    Raises:
        UserError: an option that there is not, or a value that it does not take.
    """
    place = [] if data is None else [f"--data.data_dir={data}"]
    config = resolve([*fit_options(sweep, point), *place])
    config["report"] = False  # the sweep writes one of all runs
    if config["trainer"].get("devices", "auto") == "auto":
        config["trainer"]["devices"] = 1  # the others are for the other runs
    wandb = config.setdefault("wandb", {})
    wandb["group"] = wandb.get("group") or sweep.name
    wandb["tags"] = list(dict.fromkeys([*wandb.get("tags", []), "sweep"]))
    for name in ("project", "entity"):  # as an agent does
        if sweep.content.get(name):
            wandb[name] = str(sweep.content[name])
    return config


def configuration_text(sweep: Sweep, point: dict[str, Any], data: str | None = None) -> str:
    """Return the content of a run's config.yaml."""
    return yaml.safe_dump(configuration(sweep, point, data), sort_keys=False)


def check_options(sweep: Sweep, data: str | None = None) -> None:
    """Parse points that show every listed value and both ends of every range.

    Raises:
        UserError: an option that there is not (the nearest is named), or a value that it does not
            take, before anything is trained.
    """
    for point in corners(sweep):
        try:
            configuration(sweep, point, data)
        except UserError as error:
            _check_names(sweep, point)
            raise UserError(f"{sweep.path}: {error}") from error


def _check_names(sweep: Sweep, point: dict[str, Any]) -> None:
    """Find the parameter that is no option of ``fit``."""
    deciding = {name: point[name] for name in DECIDES_OTHERS if name in point}
    try:
        known = option_names(resolve(fit_options(sweep, deciding)))
    except UserError:
        return  # names are not what is wrong
    for name in point:
        if name not in known:
            raise UserError(
                f"expected options of fit as parameters of {sweep.path} but got '{name}'; "
                f"{_suggest(name, known)}"
            )


def _suggest(name: str, known: Sequence[str]) -> str:
    """Name the nearest option; not all of them where none is near."""
    words = nearest(name, known)
    return words if words.startswith("did you") else "fer-lightning fit --help names them"


def option_names(config: dict[str, Any]) -> list[str]:
    """Name every option that ``fit`` has with a model.

    >>> names = option_names(resolve(["--model.net=vit"]))
    >>> [name in names for name in ("model.lr", "model.net.patch_size", "model.net.stem")]
    [True, True, False]
    """
    of_parser = [action.dest for action in resolver()._parser(FIT)._actions]
    module, _, name = config["model"]["net"]["class_path"].rpartition(".")
    net = inspect.signature(getattr(import_module(module), name)).parameters
    of_losses = [
        f"model.{one}.{part.name}" for one, kind in LOSSES.items() for part in fields(kind)
    ]
    return [*of_parser, *DECIDES_OTHERS, *(f"model.net.{name}" for name in net), *of_losses]
