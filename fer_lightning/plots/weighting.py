"""The training images that counted most and least under adaptive weighting."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fer_lightning.plots.style import DOUBLE, GREY, SMALL, board, check_lengths, place, styled

ACROSS = 8  # faces in a row
HEAD, TEXT, GAP = 0.3, 0.42, 0.06  # in tiles: a heading, the lines below a face, between faces


class Faces(NamedTuple):
    """Images in the order in which they are shown."""

    faces: NDArray[np.uint8]  # (N, H, W) grey or (N, H, W, 3)
    labels: NDArray[np.integer[Any]]  # (N,)
    weights: NDArray[np.floating[Any]]  # (N,) 1 is an image's equal share
    losses: NDArray[np.floating[Any]]  # (N,)


@styled
def weighting_figure(
    most: Faces, least: Faces, classes: Sequence[str], title: str = "", caption: str = ""
) -> Figure:
    r"""Show two groups of faces, each with its class, weight and loss below it.

    Args:
        most: the images with the largest weights.
        least: those with the smallest.
        classes: names in label order.
        title: model, epoch, data set and its fingerprint.
        caption: what the numbers are.

    >>> face = Faces(np.zeros((1, 8, 8), np.uint8), np.array([1]), np.array([2.5]), np.array([0.1]))
    >>> figure = weighting_figure(face, face, ("happy", "sad"))
    >>> [text.get_text() for text in figure.axes[0].texts][:2]
    ['Most weighted', 'sad\nx 2.50, loss 0.10']
    """
    for group in (most, least):
        check_lengths(**group._asdict())
    rows = [-(-len(group.faces) // ACROSS) for group in (most, least)]
    height = sum(rows) * (1 + TEXT) + 2 * HEAD
    figure, axes = board(DOUBLE, ACROSS * (1 + GAP), height, title, caption)
    top = 0.0
    for heading, group, count in zip(
        ("Most weighted", "Least weighted"), (most, least), rows, strict=True
    ):
        axes.text(0, top + HEAD / 2, heading, fontweight="bold", va="center")
        top += HEAD
        for k, (face, label, weight, loss) in enumerate(zip(*group, strict=True)):
            left, down = k % ACROSS * (1 + GAP), top + k // ACROSS * (1 + TEXT)
            place(axes, face, left, down)
            words = f"{classes[label]}\nx {weight:.2f}, loss {loss:.2f}"
            axes.text(left, down + 1.04, words, fontsize=SMALL, color=GREY, va="top")
        top += count * (1 + TEXT)
    return figure
