"""Look into a model and leave it exactly as it was found."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.models.base import VisionModel, unwrap


@contextmanager
def frozen_eval(model: nn.Module) -> Iterator[VisionModel]:
    """Make a model ready for gradients of its activations, and put everything back afterwards.

    Inside, every module is in eval mode (so BatchNorm statistics stay), no parameter asks for a
    gradient (so none is recorded before the layer of interest), autograd works whatever surrounds
    the block (`no_grad`, `inference_mode`, autocast), and all arithmetic is float32: weights in
    half precision, or made in inference mode, are replaced by copies. On leaving, also by an
    exception, modes, `requires_grad` and the replaced weights come back; nothing has a new `.grad`.

    Args:
        model: a `VisionModel`, maybe wrapped by torch.compile or DistributedDataParallel.

    Yields:
        The model itself. Call its `forward`, `features` or `attend`, which are never compiled.

    Raises:
        UserError: it is no `VisionModel`.

    >>> from fer_lightning.models import CNN
    >>> model = CNN()
    >>> with torch.no_grad(), frozen_eval(model) as inner:
    ...     inner.training, inner.head.weight.requires_grad, torch.is_grad_enabled()
    (False, False, True)
    >>> model.training, model.head.weight.requires_grad
    (True, True)
    """
    inner = innermost(model)
    device = next((p.device.type for p in inner.parameters()), "cpu")
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        if torch.amp.is_autocast_available(device):
            stack.enter_context(torch.autocast(device, enabled=False))
        for module in inner.modules():
            if module.training:
                stack.callback(setattr, module, "training", True)
                module.training = False
            _use_plain_weights(module, stack)
        for parameter in inner.parameters():
            if parameter.requires_grad:
                stack.callback(parameter.requires_grad_, True)
                parameter.requires_grad_(False)
        yield inner


def innermost(model: nn.Module) -> VisionModel:
    """Return the `VisionModel` inside the wrappers of torch.compile and distributed training.

    >>> from fer_lightning.models import CNN
    >>> model = CNN()
    >>> innermost(torch.compile(model)) is model
    True
    """
    inner = model
    while not isinstance(inner, VisionModel):
        deeper = unwrap(inner)
        if deeper is inner:
            deeper = getattr(inner, "module", inner)  # DistributedDataParallel, DataParallel
        if deeper is inner:
            raise UserError(
                f"expected a VisionModel but got {type(model).__name__}; "
                "pass the network itself, e.g. Classifier.net, or subclass VisionModel"
            )
        inner = deeper
    return inner


def plain(images: Tensor) -> Tensor:
    """Return images as float32 outside any graph, in a form that autograd may save.

    >>> with torch.inference_mode():
    ...     image = torch.zeros(1, dtype=torch.float64)
    >>> plain(image).dtype, plain(image).is_inference()
    (torch.float32, False)
    """
    images = images.detach().float()
    return images.clone() if images.is_inference() else images


def check_images(images: Tensor) -> None:
    """Refuse anything but a batch of float images.

    Raises:
        UserError: another shape or type, or no image at all.
    """
    if images.ndim != 4 or not images.is_floating_point() or images.numel() == 0:
        raise UserError(
            f"expected float images in [0, 1] of shape (N, C, H, W) but got {images.dtype} of "
            f"shape {tuple(images.shape)}; divide bytes by 255 and stack the images"
        )


def _use_plain_weights(module: nn.Module, stack: ExitStack) -> None:
    """Replace the module's weights that are not float32, or that autograd may not save."""
    registered: tuple[dict[str, Any], ...] = (module._parameters, module._buffers)
    for tensors in registered:
        for name, tensor in tensors.items():
            if tensor is None or not tensor.is_floating_point():
                continue
            if tensor.is_inference() or tensor.dtype != torch.float32:
                copy = tensor.detach().float().clone()
                wrapped = isinstance(tensor, nn.Parameter)
                stack.callback(tensors.__setitem__, name, tensor)
                tensors[name] = nn.Parameter(copy, requires_grad=False) if wrapped else copy
