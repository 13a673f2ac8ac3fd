"""What a checkpoint says about itself, and reading one without trusting it."""

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fer_lightning import __version__
from fer_lightning.errors import UserError
from fer_lightning.models import VisionModel, describe, rebuild
from fer_lightning.models.registry import default_args, scale_of
from fer_lightning.models.shipped_weights import SUFFIX, read_half, shipped
from fer_lightning.models.weights import NOT_TORCH, load_torch

if TYPE_CHECKING:
    from fer_lightning.data.datamodule import FERDataModule

ENTRY = "fer_lightning"
FREE_PARAMETERS = 10_000_000  # that a checkpoint may ask for beyond its weights
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
    made_with = default_args(net) | saved["init_args"]  # an argument of later has its default
    differing = [
        f"{name} {made_with.get(name)!r} instead of {value!r}"
        for name, value in ours["init_args"].items()
        if made_with.get(name) != value
    ]
    if differing:
        raise UserError(
            f"expected a checkpoint of the same {ours['name']} but it was made with "
            f"{', '.join(differing)}; use the config.yaml of the run it came from"
        )


def take_scale(checkpoint: Mapping[str, Any], net: VisionModel, fitting: bool) -> None:
    """Let a model scale images as that of a checkpoint does.

    Args:
        checkpoint: one that `check_description` has accepted.
        net: gets the scale.
        fitting: the training goes on, so that the scale of its data must be the same.

    Raises:
        UserError: it is not.
    """
    scale = scale_of(checkpoint[ENTRY]["net"])
    before = net.scale
    net.set_scale(**scale)
    if fitting and net.scale != before:
        raise UserError(
            f"expected a checkpoint of the same scale of images but it has {scale or '[0, 1]'} "
            f"and the data {before or '[0, 1]'}; use the --data.scale and the data of its run"
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
        checkpoint = load_torch(path)
    except pickle.UnpicklingError as error:
        raise UserError(
            f"expected a checkpoint of tensors and plain values but {path} holds something else, "
            "which was not loaded because it could execute code"
        ) from error
    except NOT_TORCH as error:
        raise UserError(f"expected a checkpoint but {path} is damaged or no checkpoint") from error
    if not isinstance(checkpoint, dict) or not isinstance(checkpoint.get(ENTRY), dict):
        raise UserError(f"expected a checkpoint written by fer_lightning but got {path}")
    return checkpoint


def find_checkpoint(given: str | Path) -> Path:
    """Return the file that a user means: one of theirs, or the name of weights that are shipped.

    >>> find_checkpoint("flagship").name, find_checkpoint("runs/best.ckpt").name
    ('flagship.safetensors', 'best.ckpt')
    """
    return Path(given) if Path(given).exists() else shipped().get(str(given), Path(given))


def load_net(path: str | Path) -> tuple[VisionModel, dict[str, Any]]:
    """Rebuild the model of a checkpoint with its weights, in eval mode.

    Args:
        path: a checkpoint, or weights as ``fer-lightning export --format=safetensors`` writes them.

    Returns:
        The model, and the description: version, net, classes, data, fingerprint.

    Raises:
        UserError: as for `read_checkpoint`, or weights that do not fit the description.
    """
    path = Path(path)
    try:
        if path.is_file() and path.suffix == SUFFIX:
            weights, about = read_half(path)
        else:
            checkpoint = read_checkpoint(path)
            about = checkpoint[ENTRY]
            weights = {
                name.removeprefix(PREFIX): value
                for name, value in checkpoint["state_dict"].items()
                if name.startswith(PREFIX)
            }
        # hardly more memory than the weights take themselves
        most = FREE_PARAMETERS + sum(weight.numel() for weight in weights.values())
        net = rebuild(about.get("net", {}), most)
        net.load_state_dict(weights)
    except (KeyError, AttributeError, TypeError, RuntimeError) as error:
        raise UserError(
            f"expected the weights of the model that {path} describes but they are missing or of "
            "another shape; the checkpoint is damaged"
        ) from error
    return net.eval(), about
