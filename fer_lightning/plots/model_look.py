"""How models are told apart in every figure that shows several: colour, mark and dashes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.lines import Line2D

from fer_lightning.plots.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION

COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (5, 1, 1, 1)))


class ModelLook(NamedTuple):
    """Colour alone is too little in grey print, so each model has all three."""

    colour: str
    marker: str
    dashes: Any


def model_look(place: int) -> ModelLook:
    """Return the look of the model at a place in the study's order.

    >>> model_look(0).marker, model_look(1).marker
    ('o', '^')
    """
    return ModelLook(
        COLOURS[place % len(COLOURS)],
        MARKERS[place % len(MARKERS)],
        DASHES[place % len(DASHES)],
    )


def model_entries(models: Sequence[str]) -> dict[str, Artist]:
    """Return entries of a legend, for `style.legend`.

    >>> list(model_entries(["cnn", "vit"]))
    ['cnn', 'vit']
    """
    looks = {model: model_look(place) for place, model in enumerate(models)}
    return {
        model: Line2D(
            [], [], color=look.colour, marker=look.marker, linestyle=look.dashes, markersize=4
        )
        for model, look in looks.items()
    }
