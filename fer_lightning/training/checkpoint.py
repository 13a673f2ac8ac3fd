"""What a checkpoint says about itself, and reading one without trusting it."""

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from fer_lightning import __version__
from fer_lightning.errors import UserError
from fer_lightning.models import VisionModel, describe, rebuild

if TYPE_CHECKING:
    from fer_lightning.data.datamodule import FERDataModule

ENTRY = "fer_lightning"
PREFIX = "net."  # of the model's weights inside the LightningModule's


def describe_run(checkpoint: dict[str, Any], net: VisionModel, data: "FERDataModule") -> None:
    """Add model, classes and data set to a checkpoint, as plain values."""
    checkpoint[ENTRY] = {
        "version": __version__,
        "net": describe(net),
        "classes": list(data.classes),
        "data": data.image_set.name,
        "fingerprint": data.image_set.fingerprint,
    }


def check_description(checkpoint: dict[str, Any], net: VisionModel) -> None:
    """Refuse a checkpoint of another model.

    Raises:
        UserError: the checkpoint is not ours, or names another model or other arguments.
    """
    if ENTRY not in checkpoint:
        raise UserError(
            "expected a checkpoint written by fer_lightning but got one without its description"
        )
    saved, ours = checkpoint[ENTRY]["net"], describe(net)
    if saved["name"] != ours["name"]:
        raise UserError(
            f"expected a checkpoint of {ours['name']} but got one of {saved['name']}; "
            "use the config.yaml of the run it came from"
        )
    differing = [
        f"{name} {saved['init_args'].get(name)!r} instead of {value!r}"
        for name, value in ours["init_args"].items()
        if saved["init_args"].get(name) != value
    ]
    if differing:
        raise UserError(
            f"expected a checkpoint of the same {ours['name']} but it was made with "
            f"{', '.join(differing)}; use the config.yaml of the run it came from"
        )


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """Read a checkpoint as plain values and tensors; code in it is never executed.

    Raises:
        UserError: no such file, no checkpoint of ours, or one that wants to execute code.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"expected a checkpoint but found no file {path}")
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise UserError(
            f"expected a checkpoint of tensors and plain values but {path} holds something else, "
            "which was not loaded because it could execute code"
        ) from error
    except (RuntimeError, EOFError, KeyError, ValueError, OSError) as error:
        raise UserError(f"expected a checkpoint but {path} is damaged or no checkpoint") from error
    if not isinstance(checkpoint, dict) or not isinstance(checkpoint.get(ENTRY), dict):
        raise UserError(f"expected a checkpoint written by fer_lightning but got {path}")
    return checkpoint


def load_net(path: str | Path) -> tuple[VisionModel, dict[str, Any]]:
    """Rebuild the model of a checkpoint with its weights, in eval mode.

    Returns:
        The model, and the description: version, net, classes, data, fingerprint.

    Raises:
        UserError: as for `read_checkpoint`, or weights that do not fit the description.
    """
    checkpoint = read_checkpoint(path)
    net = rebuild(checkpoint[ENTRY].get("net"))
    try:
        weights = {
            name.removeprefix(PREFIX): value
            for name, value in checkpoint["state_dict"].items()
            if name.startswith(PREFIX)
        }
        net.load_state_dict(weights)
    except (KeyError, AttributeError, TypeError, RuntimeError) as error:
        raise UserError(
            f"expected the weights of the model that {path} describes but they are missing or of "
            "another shape; the checkpoint is damaged"
        ) from error
    return net.eval(), checkpoint[ENTRY]
