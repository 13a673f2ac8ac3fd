"""Grad-CAM and HiResCAM: which places of the last feature maps speak for a class."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError, nearest
from fer_lightning.look.frozen import (
    BATCH,
    check_images,
    check_target,
    choose,
    frozen_eval,
    plain,
    split_target,
)
from fer_lightning.look.methods.registry import method
from fer_lightning.models.base import VisionModel

Method = Literal["grad_cam", "hires_cam"]


class Cam(NamedTuple):
    """Class activation maps.

    Args:
        signed: (N, h, w) float32 at the model's own grid, before ReLU.
        target: (N,) the class that each map explains.
        logits: (N, K) of the same forward pass.
    """

    signed: Tensor
    target: Tensor
    logits: Tensor


def grad_cam(
    model: nn.Module,
    images: Tensor,
    target: int | Tensor | None = None,
    method: Method = "grad_cam",
    batch_size: int = BATCH,
) -> Cam:
    """Map where a model sees evidence for (positive) and against (negative) a class.

    Grad-CAM (Selvaraju et al., 2017) weighs each channel of `cam_layer` by the spatial mean of the
    logit's gradient and adds the channels up; HiResCAM (Draelos and Carin, 2020) weighs each place
    of each channel by its own gradient. ReLU and scaling are `to_heat`'s.

    Only what follows `cam_layer` is differentiated. It works inside and outside a Trainer, under
    `no_grad`, `inference_mode` and autocast, and leaves the model as it was (see `frozen_eval`).

    Args:
        model: a `VisionModel`, maybe compiled or wrapped for distributed training.
        images: (N, C, H, W) floats in [0, 1] on the model's device.
        target: the class to explain: None for the predicted one, an int for all images, or (N,).
        method: ``"grad_cam"`` or ``"hires_cam"``.
        batch_size: images in one forward pass.

    Returns:
        Signed maps, classes and logits, on the model's device and without a graph. Where a model
        ignores an image altogether (a dead ReLU, a zero head), its map is zero.

    Raises:
        UserError: bad images or target, or the logits do not depend on the places of `cam_layer`.

    >>> from fer_lightning.models import ViT
    >>> cam = grad_cam(ViT(), torch.rand(2, 1, 48, 48), target=3)
    >>> cam.signed.shape, cam.target.tolist(), cam.logits.shape
    (torch.Size([2, 8, 8]), [3, 3], torch.Size([2, 7]))
    """
    check_images(images)
    check_target(target, len(images))
    if method not in get_args(Method):
        raise UserError(
            f"expected a method but got '{method}'; {nearest(method, get_args(Method))}"
        )
    wanted = split_target(target, len(images), batch_size)
    with frozen_eval(model) as inner:
        parts = [
            _one_batch(inner, plain(part), classes, method)
            for part, classes in zip(images.split(batch_size), wanted, strict=True)
        ]
        signed, classes, logits, felt, missed = map(torch.cat, zip(*parts, strict=True))
        # One image may well have no gradient. None anywhere but at [CLS] is the layer's fault.
        if missed.any() and not felt.any():
            raise UserError(
                f"expected logits that depend on the places of cam_layer, {_name(inner)}, but got "
                "a zero gradient at each of them; use another cam_layer, before the last attention"
            )
    return Cam(signed, classes, logits)


def _one_batch(
    model: VisionModel, images: Tensor, target: int | Tensor | None, method: Method
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return signed maps, classes, logits, and for each image whether places had a gradient.

    The last tells whether tokens that are no place, such as [CLS], had one although no place had.
    """
    with captured(model.cam_layer) as outputs:
        logits = model.forward(images)
    if not outputs:
        raise UserError(
            f"expected cam_layer to be a part of the forward pass but {_name(model)} was not "
            "called; use another cam_layer"
        )
    activation = outputs[-1]  # of the last use
    classes = choose(logits, target)
    score = logits.gather(1, classes[:, None]).sum()  # images do not mix in eval mode
    if not score.requires_grad:
        raise _unused(model)
    (gradient,) = torch.autograd.grad(score, activation, allow_unused=True)
    if gradient is None:
        raise _unused(model)
    with torch.no_grad():
        places, slopes = _on_grid(model, activation), _on_grid(model, gradient)  # B, C, h, w
        if method == "grad_cam":
            signed = torch.einsum("bc,bchw->bhw", slopes.mean((2, 3)), places)
        else:
            signed = (slopes * places).sum(1)
        felt = slopes.flatten(1).any(1)
        missed = gradient.flatten(1).any(1) & ~felt
    return signed, classes, logits.detach(), felt, missed


@contextmanager
def captured(layer: nn.Module) -> Iterator[list[Tensor]]:
    """Collect what a layer returns, each time as the start of a new graph.

    >>> layer = nn.Linear(2, 2)
    >>> with captured(layer) as outputs:
    ...     out = layer(torch.ones(1, 2)).square().sum()
    >>> torch.allclose(torch.autograd.grad(out, outputs[0])[0], 2 * outputs[0])
    True
    """
    outputs: list[Tensor] = []

    def keep(_module: nn.Module, _args: object, output: object) -> Tensor:
        if not isinstance(output, Tensor):
            raise UserError(
                f"expected cam_layer to return a tensor but got {type(output).__name__}; "
                "use another cam_layer"
            )
        outputs.append(output.detach().requires_grad_())
        return outputs[-1].clone()  # what follows may work in place

    handle = layer.register_forward_hook(keep)
    try:
        yield outputs
    finally:
        handle.remove()


def _on_grid(model: VisionModel, activation: Tensor) -> Tensor:
    """Return (B, C, h, w), or tell that the layer's output has no such places."""
    try:
        grid = model.to_grid(activation)
    except (RuntimeError, IndexError) as error:
        raise UserError(
            f"expected an output of cam_layer, {_name(model)}, that to_grid can lay out but got "
            f"shape {tuple(activation.shape)} ({error}); use another cam_layer"
        ) from error
    return grid


def _unused(model: VisionModel) -> UserError:
    return UserError(
        f"expected logits that depend on cam_layer but got a zero gradient at {_name(model)}; "
        "use another cam_layer"
    )


def _name(model: VisionModel) -> str:
    """Return the layer's name in the model."""
    layer = model.cam_layer
    return next((name for name, module in model.named_modules() if module is layer), "no part")


CAM = "signed evidence for the target class at the model's own grid, before ReLU"


@method("grad_cam", title="Grad-CAM", about=CAM, passes=2)
def grad_cam_maps(
    model: nn.Module, images: Tensor, target: int | Tensor | None, batch_size: int
) -> Tensor:
    """Grad-CAM, the paper's method."""
    return grad_cam(model, images, target, "grad_cam", batch_size).signed


@method("hires_cam", title="HiResCAM", about=CAM, passes=2)
def hires_cam_maps(
    model: nn.Module, images: Tensor, target: int | Tensor | None, batch_size: int
) -> Tensor:
    """HiResCAM: gradients are not averaged over places."""
    return grad_cam(model, images, target, "hires_cam", batch_size).signed
