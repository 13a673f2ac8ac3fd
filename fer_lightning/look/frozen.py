"""Look into a model and leave it exactly as it was found."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.models.base import VisionModel, unwrap

# Images in one pass: with 256 the activations of `cnn` leave a CPU's caches, 1.5 times the time.
BATCH = 64


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


# --- The class whose evidence is looked for


def check_target(target: int | Tensor | None, images: int) -> None:
    """Refuse a target that cannot belong to so many images.

    Raises:
        UserError: neither None, an int, nor one integer for each image.
    """
    if target is None or (isinstance(target, int) and not isinstance(target, bool)):
        return
    if not isinstance(target, Tensor):
        raise UserError(
            f"expected target None, an int or a tensor but got {type(target).__name__}; "
            "convert it by torch.tensor"
        )
    integers = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
    if target.shape != (images,) or target.dtype not in integers:
        raise UserError(
            f"expected one integer class for each of {images} images but got {target.dtype} of "
            f"shape {tuple(target.shape)}; pass labels, not one-hot rows or scores"
        )


def choose(logits: Tensor, target: int | Tensor | None) -> Tensor:
    """Return the class to explain for each image, (B,), given logits, (B, K).

    Args:
        logits: of the images.
        target: None for the predicted class, one class for all, or (B,).

    Raises:
        UserError: a class that the model does not have.

    >>> choose(torch.tensor([[0.0, 1.0], [3.0, 2.0]]), None).tolist()
    [1, 0]
    >>> choose(torch.zeros(2, 3), 2).tolist()
    [2, 2]
    """
    if target is None:
        return logits.argmax(1)
    classes = torch.as_tensor(target, device=logits.device).long().expand(len(logits))
    low, high = torch.aminmax(classes)
    if low < 0 or high >= logits.shape[1]:
        raise UserError(
            f"expected classes from 0 to {logits.shape[1] - 1} but got "
            f"{int(low if low < 0 else high)}; check the labels"
        )
    return classes


def split_target(
    target: int | Tensor | None, images: int, batch_size: int
) -> list[int | Tensor | None]:
    """Return the targets of each batch.

    >>> split_target(torch.tensor([4, 5, 6]), 3, batch_size=2)
    [tensor([4, 5]), tensor([6])]
    >>> split_target(4, 3, batch_size=2)
    [4, 4]
    """
    if isinstance(target, Tensor):
        return list(target.split(batch_size))
    return [target] * -(-images // batch_size)


# --- What the methods share that look at pixels, and so need no layer of the model


def input_gradient(model: VisionModel, images: Tensor, classes: Tensor) -> Tensor:
    """Return the gradient of the logit of each image's class, (B, C, H, W).

    Args:
        model: inside `frozen_eval`.
        images: (B, C, H, W).
        classes: (B,).
    """
    images = images.detach().clone().requires_grad_()
    score = model.forward(images).gather(1, classes[:, None]).sum()
    return torch.autograd.grad(score, images)[0]


def classes_of(model: VisionModel, images: Tensor, target: int | Tensor | None) -> Tensor:
    """Return the class to explain for each image, (B,); the predicted one costs a forward pass.

    Args:
        model: inside `frozen_eval`.
        images: (B, C, H, W).
        target: as for `choose`.
    """
    with torch.no_grad():
        return choose(model.forward(images), target)


def over_channels(attribution: Tensor) -> Tensor:
    """Return heat, (B, H, W), of signed attributions, (B, C, H, W): the sum of absolute values.

    >>> over_channels(torch.tensor([[[[1.0]], [[-2.0]]]]))
    tensor([[[3.]]])
    """
    return attribution.abs().sum(1)


def blank(images: Tensor, fill: float | Literal["mean"]) -> Tensor:
    """Return what stands for "nothing to see", (B, C, 1, 1): a grey level or the images' own mean.

    >>> blank(torch.tensor([[[[0.25, 0.75]]]]), "mean").item()
    0.5
    """
    if fill == "mean":
        return images.mean((2, 3), keepdim=True)
    return images.new_full((*images.shape[:2], 1, 1), fill)
