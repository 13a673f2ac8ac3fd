"""Marks of a scatter plot as SVG paths: colour and shape tell the class, hollow a wrong answer."""

import numpy as np
from numpy.typing import NDArray

from fer_lightning.plots.style import CLASS_COLOURS, CLASS_MARKERS, GREY
from fer_lightning.report.content import Points

SIDE, MARGIN = 320, 12  # units of the plot's own coordinates
LAYERS = 12  # classes are mixed from back to front, so that none covers all others

# One mark around the point where the pen stands, in those units
SHAPES = {
    "^": "m0-4l4 7h-8z",
    "v": "m0 4l4-7h-8z",
    "s": "m-3-3h6v6h-6z",
    "o": "m-3.3 0a3.3 3.3 0 1 0 6.6 0a3.3 3.3 0 1 0-6.6 0z",
    "D": "m0-4l4 4l-4 4l-4-4z",
    "P": "m-1.3-3.9h2.6v2.6h2.6v2.6h-2.6v2.6h-2.6v-2.6h-2.6v-2.6h2.6z",
    "X": "m0-1.7l2-2l1.8 1.8l-2 2l2 2l-1.8 1.8l-2-2l-2 2l-1.8-1.8l2-2l-2-2l1.8-1.8z",
    "*": "m0-4.4l1.1 3.1l3.3 .1l-2.6 2l.9 3.2l-2.7-1.9l-2.7 1.9l.9-3.2l-2.6-2l3.3-.1z",
    "<": "m-4 0l7-4v8z",
    ">": "m4 0l-7-4v8z",
}


def mark_of(place: int) -> tuple[str, str]:
    """Colour and path of a class, as in the figures.

    >>> mark_of(3) == mark_of(13)
    True
    """
    shape = SHAPES[CLASS_MARKERS[place % len(CLASS_MARKERS)]]
    return CLASS_COLOURS[place % len(CLASS_COLOURS)], shape


def placed(
    xy: NDArray[np.floating],
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Fit points into the plot, with one scale for both directions and y upwards.

    Returns:
        (N,) which points can be drawn, and the places of those, (n, 2).

    >>> placed(np.array([[0, 0], [2, 1], [np.nan, 0]]))[1].tolist()
    [[12.0, 234.0], [308.0, 86.0]]
    """
    keep = np.isfinite(xy).all(axis=1)
    points = xy[keep].astype(np.float64)
    if not len(points):
        return keep, points
    low, high = points.min(axis=0), points.max(axis=0)
    scale = (SIDE - 2 * MARGIN) / max((high - low).max(), 1e-9)
    return keep, SIDE / 2 + (points - (low + high) / 2) * scale * (1, -1)


def points_svg(points: Points, classes: int) -> str:
    """Draw all points as few paths: one a layer, class and kind of answer."""
    keep, xy = placed(points.xy)
    label, right = points.label[keep], (points.label == points.predicted)[keep]
    order = np.random.default_rng(0).permutation(len(xy))
    return "".join(
        _path(xy[chosen], int(place), bool(answer))
        for layer in np.array_split(order, LAYERS)
        for place in np.unique(label[layer])
        for answer in (True, False)
        if len(chosen := layer[(label[layer] == place) & (right[layer] == answer)])
    )


def _path(xy: NDArray[np.float64], place: int, right: bool) -> str:
    colour, shape = mark_of(place)
    where = "".join(f"M{x:.1f} {y:.1f}{shape}" for x, y in xy)
    answer = "right" if right else "wrong"
    return (
        f'<path data-class="{place}" data-answer="{answer}" {_paint(colour, right)} d="{where}"/>'
    )


def symbol_svg(place: int | None, filled: bool = True) -> str:
    """Draw one mark for a legend; without a class, a grey circle."""
    colour, shape = (GREY, SHAPES["o"]) if place is None else mark_of(place)
    return (
        '<svg viewBox="-6 -6 12 12" width="16" height="16" aria-hidden="true">'
        f'<path {_paint(colour, filled)} d="M0 0{shape}"/></svg>'
    )


def _paint(colour: str, filled: bool) -> str:
    if filled:
        return f'fill="{colour}" fill-opacity=".8"'
    return f'fill="#fff" fill-opacity=".5" stroke="{colour}" stroke-width="1.4"'
