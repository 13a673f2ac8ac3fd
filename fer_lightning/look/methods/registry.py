"""Ways to ask a model where it looks, by name; open to methods from other packages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol, TypeVar

from torch import Tensor, nn

from fer_lightning.errors import UserError, nearest
from fer_lightning.look.frozen import BATCH

ENTRY_POINTS = "fer_lightning.methods"  # each names a function registered by `method`
ALIASES = {"occlusion_map": "occlusion"}  # names of before
T = TypeVar("T")
ATTENTION_BATCH = 32  # a batch's attention is kept for all layers at once


class MakeMaps(Protocol):
    """What a method does."""

    def __call__(
        self, model: nn.Module, images: Tensor, target: int | Tensor | None, batch_size: int
    ) -> Tensor:
        """Return (N, h, w): evidence for the target class, signed where the method is."""


class Doubt(Protocol):
    """What tells whether a method can be believed for a model."""

    def __call__(self, model: nn.Module, images: Tensor) -> str | None:
        """Return a sentence on what does not hold for these images, or None."""


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
        doubt: tells where a model breaks what the method rests on; None where nothing is checked.
    """

    name: str
    maps: MakeMaps
    title: str
    about: str = "heat for the target class at each pixel"
    knows_class: bool = True
    needs_attention: bool = False
    single_pixels: bool = False
    passes: float = 1.0
    doubt: Doubt | None = None


METHODS: dict[str, Method] = {}


def method(
    name: str,
    title: str | None = None,
    about: str = Method.about,
    knows_class: bool = True,
    needs_attention: bool = False,
    single_pixels: bool = False,
    passes: float = 1.0,
    doubt: Doubt | None = None,
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
        doubt: as for `Method`.

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
            doubt,
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


def find_methods(names: Sequence[str]) -> list[str]:
    """Return the names of several methods, each once; a word may name several with commas.

    Raises:
        UserError: one is unknown, or none is named.

    >>> find_methods(["grad_cam,occlusion_map", "grad_cam"])
    ['grad_cam', 'occlusion']
    """
    words = [word.strip() for name in names for word in name.split(",")]
    found = [find_method(word).name for word in words if word]
    if not found:
        raise UserError(f"expected at least one method but got none; {nearest('', list_methods())}")
    return list(dict.fromkeys(found))


def by_each(
    methods: Sequence[str], work: Callable[[str], T], left_out: Callable[[str, str], None]
) -> dict[str, T]:
    """Do something by each method; one that the model cannot do stops no other.

    Args:
        methods: names.
        work: takes a name; it raises a `UserError` where the model cannot do this method.
        left_out: is told the name of each such method and why, if another one worked.

    Returns:
        What `work` returned, by method.

    Raises:
        UserError: none works; the first one's reason.

    >>> def work(name):
    ...     if name == "b":
    ...         raise UserError("no b here")
    ...     return name.upper()
    >>> by_each(["a", "b"], work, lambda name, why: print(name, "is left out:", why))
    b is left out: no b here
    {'a': 'A'}
    """
    found: dict[str, T] = {}
    errors: dict[str, UserError] = {}
    for name in methods:
        try:
            found[name] = work(name)
        except UserError as error:
            errors[name] = error
    if errors and not found:
        raise next(iter(errors.values()))
    for name, why in errors.items():
        left_out(name, str(why))
    return found


def explain(
    model: nn.Module,
    images: Tensor,
    target: int | Tensor | None = None,
    method: str = "grad_cam",
    batch_size: int = BATCH,
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
