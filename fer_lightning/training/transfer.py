"""Where a model starts from, and what of it learns."""

from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

from fer_lightning.errors import UserError
from fer_lightning.models.base import VisionModel
from fer_lightning.models.cost import count_parameters
from fer_lightning.models.weights import load_pretrained


@dataclass(frozen=True)
class Transfer:
    """Where a model starts from, and what of it learns.

    Files are safetensors, torch checkpoints of weights, or checkpoints of ours such as
    ``best.ckpt`` of a run. They are read once, when a training starts; neither going on with the
    run nor its checkpoints need them.

    Args:
        weights: file for the whole model but its head.
        stem: file for the stem only, with names of the whole model or of its stem.
        encoder: file for the encoder only, with names of the whole model or of its encoder.
        head: ``new`` draws a new head; ``keep`` takes that of `weights`, for the same classes.
        freeze: what stays as it is; ``body`` is everything but the head, a linear probe.
        layer_decay: each layer learns at this share of the rate of the layer above it.
    """

    weights: str | None = None
    stem: str | None = None
    encoder: str | None = None
    head: Literal["new", "keep"] = "new"
    freeze: Literal["none", "stem", "encoder", "body"] = "none"
    layer_decay: float = 1.0

    @property
    def files(self) -> dict[str, str]:
        """The file of each part, ``body`` for all of them."""
        named = {"body": self.weights, "stem": self.stem, "encoder": self.encoder}
        return {part: path for part, path in named.items() if path is not None}


def check_transfer(transfer: Transfer, net: VisionModel) -> None:
    """Refuse options that contradict each other or the model; no file is touched."""
    if not 0 < transfer.layer_decay <= 1:
        raise UserError(
            f"expected layer_decay in (0, 1] but got {transfer.layer_decay}; 1 lets every layer "
            "learn alike"
        )
    if transfer.weights is not None and len(transfer.files) > 1:
        raise UserError(
            "expected weights for the whole model or for its parts but got both; leave out "
            "transfer.weights, or transfer.stem and transfer.encoder"
        )
    if transfer.head == "keep" and transfer.weights is None:
        raise UserError(
            "expected transfer.weights, whose head could be kept, but got none; "
            "give a file or leave out transfer.head"
        )
    for part in {*transfer.files, transfer.freeze} - {"body", "none"}:
        _weights_of(net, part)


def _weights_of(net: VisionModel, part: str) -> tuple[str, ...]:
    """Return how the names of a part's weights begin, ``body`` for everything but the head."""
    if part == "body":
        return tuple(start for starts in net.parts.values() for start in starts)
    if part not in net.parts:
        raise UserError(
            f"expected a part of {type(net).__name__} ({', '.join(net.parts)}) but got '{part}'; "
            "use transfer.weights or freeze: body for a model without parts"
        )
    return net.parts[part]


def freeze(net: VisionModel, part: str) -> None:
    """Keep a part from learning: its parameters, its statistics of batches, its dropout.

    Call it again after each ``net.train()``, which would start statistics and dropout again.
    """
    if part == "none":
        return
    starts = _weights_of(net, part)
    for name, parameter in net.named_parameters():
        if name.startswith(starts):
            parameter.requires_grad_(False)
    learning = tuple(s for s in ("head.", *_weights_of(net, "body")) if s not in starts)
    for name, module in net.named_modules():
        inside = f"{name}.".startswith(starts)
        nowhere = part != "stem" and not f"{name}.".startswith(learning)  # e.g. a Dropout
        if name and (inside or nowhere):
            module.training = False


def start_from(net: VisionModel, transfer: Transfer) -> list[dict[str, Any]]:
    """Load the files into the model and return what came from each, for `run.json`."""
    return [
        load_pretrained(net, path, part, _weights_of(net, part), keep_head=transfer.head == "keep")
        for part, path in transfer.files.items()
    ]


def count_learning(net: nn.Module) -> int:
    """Return the number of parameters that learn."""
    return count_parameters(net, trainable=True)
