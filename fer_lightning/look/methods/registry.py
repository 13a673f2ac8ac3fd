"""Ways to ask a model where it looks, by name; open to methods from other packages."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol

from torch import Tensor, nn

from fer_lightning.errors import UserError, nearest

ENTRY_POINTS = "fer_lightning.methods"  # each names a function registered by `method`
ALIASES = {"occlusion_map": "occlusion"}  # names of before
ATTENTION_BATCH = 32  # a batch's attention is kept for all layers at once


class MakeMaps(Protocol):
    """What a method does."""

    def __call__(
        self, model: nn.Module, images: Tensor, target: int | Tensor | None, batch_size: int
    ) -> Tensor:
        """Return (N, h, w): evidence for the target class, signed where the method is."""


@dataclass(frozen=True)
class Method:
    """A way to ask a model where it looks.

    Args:
        name: in options, tables and log keys.
        maps: makes the maps, (N, h, w), on a grid of its own.
        title: the name for readers.
        about: what the maps are, as the end of a sentence.
        knows_class: whether maps of two classes differ.
        needs_attention: whether only models with attention have such maps.
        single_pixels: whether heat lies on single pixels, so that pictures blur it for the eye.
        passes: its price in forward passes of a 48x48 image.
    """

    name: str
    maps: MakeMaps
    title: str
    about: str = "heat for the target class at each pixel"
    knows_class: bool = True
    needs_attention: bool = False
    single_pixels: bool = False
    passes: float = 1.0


METHODS: dict[str, Method] = {}


def method(
    name: str,
    title: str | None = None,
    about: str = Method.about,
    knows_class: bool = True,
    needs_attention: bool = False,
    single_pixels: bool = False,
    passes: float = 1.0,
) -> Callable[[MakeMaps], MakeMaps]:
    """Register a function as a method; command line, callbacks, tables and reports then know it.

    Args:
        name: letters, digits and _, not taken yet.
        title: the name for readers; `name` without it.
        about: as for `Method`.
        knows_class: as for `Method`.
        needs_attention: as for `Method`.
        single_pixels: as for `Method`.
        passes: as for `Method`.

    Raises:
        UserError: the name is taken by another function or cannot be a column's value.

    >>> @method("red_channel", title="Red channel", knows_class=False)
    ... def red_channel(model, images, target, batch_size):
    ...     return images[:, 0]
    >>> METHODS.pop("red_channel").title
    'Red channel'
    """
    if not name.isidentifier():
        raise UserError(
            f"expected a method's name of letters, digits and _ but got {name!r:.40}; rename it"
        )

    def register(maps: MakeMaps) -> MakeMaps:
        taken = METHODS.get(name)
        if taken is not None and _place(taken.maps) != _place(maps):
            raise UserError(f"expected a new name of a method but '{name}' is taken; rename it")
        METHODS[name] = Method(
            name,
            maps,
            title or name,
            about,
            knows_class,
            needs_attention,
            single_pixels,
            passes,
        )
        return maps

    return register


def _place(maps: MakeMaps) -> tuple[str, str]:
    """Where a function is defined, so that a notebook's cell may be run again."""
    return getattr(maps, "__module__", ""), getattr(maps, "__qualname__", repr(maps))


def list_methods() -> list[str]:
    """Return the names of all methods, those of other packages included."""
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name not in METHODS:
            entry.load()
    return list(METHODS)


def find_method(name: str) -> Method:
    """Return a method by its name, or by a name of before.

    Raises:
        UserError: there is none.

    >>> find_method("occlusion_map").name
    'occlusion'
    """
    name = ALIASES.get(name, name)
    known = [name] if name in METHODS else list_methods()
    if name not in known:
        raise UserError(f"expected a method but got {name!r:.60}; {nearest(name, known)}")
    return METHODS[name]


def explain(
    model: nn.Module,
    images: Tensor,
    target: int | Tensor | None = None,
    method: str = "grad_cam",
    batch_size: int = 256,
) -> Tensor:
    """Return a map of each image at the method's own grid, signed if the method is.

    Args:
        model: a `VisionModel`, left as it was.
        images: (N, C, H, W) floats in [0, 1] on the model's device.
        target: the class to explain: None for the predicted one, an int for all images, or (N,).
        method: a name of `list_methods`.
        batch_size: images in one pass.

    Returns:
        (N, h, w). Give it to `to_heat`.

    Raises:
        UserError: no such method, attention of a model that has none, or maps that are none.

    >>> import torch
    >>> from fer_lightning.models import ViT
    >>> explain(ViT(), torch.rand(2, 1, 48, 48), method="attention_rollout").shape
    torch.Size([2, 8, 8])
    """
    found = find_method(method)
    if found.needs_attention:
        batch_size = min(batch_size, ATTENTION_BATCH)
    maps = found.maps(model, images, target, batch_size)
    if not isinstance(maps, Tensor) or maps.ndim != 3 or len(maps) != len(images):
        got = tuple(maps.shape) if isinstance(maps, Tensor) else type(maps).__name__
        raise UserError(
            f"expected maps of shape ({len(images)}, h, w) from method '{found.name}' but got "
            f"{got}; let its function return one map per image"
        )
    return maps
