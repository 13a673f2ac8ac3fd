"""The class whose evidence is looked for."""

import torch
from torch import Tensor

from fer_lightning.errors import UserError


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
