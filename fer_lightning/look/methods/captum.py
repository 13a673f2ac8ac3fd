"""Any attribution of captum as a method of ours; needs captum (``pip install captum``)."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from fer_lightning.look.frozen import check_images, choose, frozen_eval, plain, split_target
from fer_lightning.look.methods.registry import Method, find_method, method


def captum_method(
    name: str,
    attribution: Callable[[Callable[[Tensor], Tensor]], Any],
    title: str | None = None,
    **options: Any,
) -> Method:
    """Register an attribution of captum under a name.

    Args:
        name: of the method, see `method`.
        attribution: takes a model and has captum's ``attribute``, such as ``captum.attr.DeepLift``.
        title: the name for readers.
        options: of ``attribute``, such as ``n_steps``.

    Returns:
        The method: signed heat at each pixel, summed over channels.

    >>> from captum.attr import Saliency
    >>> from fer_lightning.look.methods import METHODS, explain
    >>> from fer_lightning.models import CNN
    >>> captum_method("saliency", Saliency, abs=False).title
    'saliency (captum)'
    >>> explain(CNN(), torch.rand(2, 1, 48, 48), method="saliency").shape
    torch.Size([2, 48, 48])
    >>> _ = METHODS.pop("saliency")
    """

    @method(name, title or f"{name} (captum)", single_pixels=True, passes=2)
    def maps(
        model: nn.Module, images: Tensor, target: int | Tensor | None, batch_size: int
    ) -> Tensor:
        check_images(images)
        wanted = split_target(target, len(images), batch_size)
        found = []
        with frozen_eval(model) as inner:
            how = attribution(inner)
            for part, given in zip(images.split(batch_size), wanted, strict=True):
                part = plain(part).requires_grad_()
                with torch.no_grad():
                    classes = choose(inner.forward(part), given)
                found.append(how.attribute(part, target=classes, **options).sum(1).detach())
        return torch.cat(found)

    return find_method(name)
