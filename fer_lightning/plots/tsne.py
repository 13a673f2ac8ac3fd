"""Features laid out in the plane, with the numbers that say how far to believe the picture."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from fer_lightning.data.labels import MOST_NAMED
from fer_lightning.errors import UserError
from fer_lightning.plots import style


@style.styled
def tsne_figure(
    points: NDArray[np.floating[Any]],
    labels: NDArray[np.integer[Any]],
    classes: Sequence[str],
    quality: Mapping[str, float],
    title: str = "",
) -> Figure:
    """Draw one mark per image; each class has a colour and a shape, of its own up to ten classes.

    Of more than `MOST_NAMED` classes the largest are named.

    The axes have no ticks: t-SNE's coordinates mean nothing.

    Args:
        points: (N, 2), rows with NaN are not drawn.
        labels: (N,) true classes.
        classes: names in label order.
        quality: what `metrics.embedding_quality` gives; what is missing or NaN reads "n/a".
        title: model, epoch, data set and its fingerprint.

    >>> figure = tsne_figure(np.zeros((2, 2)), np.array([0, 0]), ("cat", "dog"), quality={})
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['cat (2)', 'dog (0)']
    """
    style.check_lengths(labels=labels, points=points)
    if points.ndim != 2 or points.shape[1] != 2:
        raise UserError(
            f"expected points of shape (N, 2) but got {points.shape}; lay them out first"
        )
    sizes = np.bincount(labels, minlength=len(classes))
    named, caption = list(range(len(classes))), _caption(labels, quality)
    if len(classes) > MOST_NAMED:
        named = sorted(np.argsort(-sizes, kind="stable")[:MOST_NAMED].tolist())
        caption += f" Named: the {MOST_NAMED} largest of {len(classes):,} classes; marks repeat."
    columns = min(3, len(named))
    rows = math.ceil(len(named) / columns)
    figure = style.new_figure(style.SINGLE, style.SINGLE - 0.2, title, caption, legend_rows=rows)
    axes = figure.subplots()
    order = np.random.default_rng(0).permutation(len(points))  # no class lies on top of all others
    entries: dict[str, Artist] = {}
    for place in named:
        colour, marker = _mark(place)
        entries[f"{classes[place]} ({sizes[place]})"] = Line2D(
            [], [], color=colour, marker=marker, linestyle="", markeredgewidth=0, markersize=5
        )
    for some in np.array_split(order, 12):  # few calls, yet classes mixed from back to front
        marks = labels[some] % len(style.CLASS_COLOURS)
        for place in np.unique(marks):
            colour, marker = _mark(int(place))
            x, y = points[some[marks == place]].T
            axes.scatter(x, y, 9, colour, marker=marker, alpha=0.75, linewidths=0)
    style.blank(axes)
    axes.set_aspect("equal", "datalim")
    if not np.isfinite(points).all(axis=1).any():
        style.note(axes, "no points")
    style.legend(figure, entries, columns)
    return figure


def _mark(place: int) -> tuple[str, str]:
    """Colour and shape of a class."""
    return style.CLASS_COLOURS[place % len(style.CLASS_COLOURS)], style.CLASS_MARKERS[
        place % len(style.CLASS_MARKERS)
    ]


def _caption(labels: NDArray[np.integer[Any]], quality: Mapping[str, float]) -> str:
    """Put the quality into words; chance is the share of the largest class."""

    def shown(name: str) -> str:
        value = quality.get(name, math.nan)
        return "n/a" if math.isnan(value) else f"{value:.2f}"

    chance = f"{np.bincount(labels).max() / len(labels):.2f}" if len(labels) else "n/a"
    return (
        f"{len(labels)} images. kNN accuracy {shown('knn_features')} in feature space, "
        f"{shown('knn_points')} in this plane (largest class {chance}). "
        f"Silhouette {shown('silhouette_features')} in feature space, "
        f"{shown('silhouette_points')} here. Trustworthiness {shown('trustworthiness')}. "
        "Distances between clusters mean nothing."
    )
