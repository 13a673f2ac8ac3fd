"""Which class is taken for which."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fer_lightning.data.labels import MOST_NAMED
from fer_lightning.errors import UserError
from fer_lightning.plots import style
from fer_lightning.plots.style import BLUE, GREY, MIDDLE, new_figure, styled, tidy


@styled
def confusion_figure(
    counts: NDArray[np.integer[Any]], classes: Sequence[str], title: str = ""
) -> Figure:
    """Draw the row-normalised confusion matrix, with counts in small print and recall beside it.

    A class without images has a note in place of percentages. Above `MOST_NAMED` classes there are
    colours alone, and some of the classes' names.

    Args:
        counts: (K, K), row = true class, column = predicted class.
        classes: K names.
        title: model, epoch, data set and its fingerprint.

    >>> figure = confusion_figure(np.array([[3, 1], [0, 0]]), ("cat", "dog"))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['75', '3', '25', '1', 'no images']
    """
    K = len(classes)
    if counts.shape != (K, K) or (counts < 0).any():
        raise UserError(
            f"expected counts of shape ({K}, {K}), none negative, but got shape {counts.shape}; "
            "give one row a true class and one column a predicted one"
        )
    totals = counts.sum(1)
    share = counts / np.maximum(totals, 1)[:, None]
    figure = new_figure(MIDDLE, max(1.6, 3.6 * min(K, 8) / 7), title, _caption(counts))
    matrix, bars = figure.subplots(1, 2, width_ratios=(5, 1), sharey=True)
    matrix.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    matrix.set(xlabel="predicted", ylabel="true")
    matrix.spines[:].set_visible(False)
    if K > MOST_NAMED:
        some = range(0, K, _step(K))
        matrix.set_xticks(some, [classes[k] for k in some], rotation=90)
        matrix.set_yticks(some, [classes[k] for k in some])
        bars.fill_betweenx(np.arange(K), share.diagonal(), step="mid", color=BLUE, linewidth=0)
        _recall_axis(bars)
    else:
        _with_numbers(matrix, counts, share, classes)
        _recall(bars, share.diagonal(), totals)
    for axes in (matrix, bars):
        tidy(axes)
        axes.tick_params(which="both", length=0)
    return figure


def _step(classes: int) -> int:
    """Every so many classes one is named."""
    return -(-classes // MOST_NAMED)


def _with_numbers(
    matrix: Axes,
    counts: NDArray[np.integer[Any]],
    share: NDArray[np.floating[Any]],
    classes: Sequence[str],
) -> None:
    """Write percentages and counts into the cells, and the names of all classes beside them."""
    K, totals = len(classes), counts.sum(1)
    centred: dict[str, Any] = {"ha": "center", "va": "center"}
    for row in range(K):
        if not totals[row]:
            matrix.text(
                (K - 1) / 2, row, "no images", fontsize=7, color=GREY, style="italic", **centred
            )
            continue
        for column in range(K):
            _cell(matrix, row, column, share[row, column], counts[row, column], 8 if K < 9 else 7)
    tilted = {"rotation": 45, "ha": "right"} if K > 3 else {"ha": "center"}
    matrix.set_xticks(range(K), classes, rotation_mode="anchor", **tilted)
    matrix.set_yticks(range(K), classes)
    matrix.set_xticks(np.arange(1, K) - 0.5, minor=True)
    matrix.set_yticks(np.arange(1, K) - 0.5, minor=True)
    matrix.grid(which="minor", color="white", linewidth=1)


def _cell(axes: Axes, row: int, column: int, share: float, count: int, big: float) -> None:
    """Write the percentage, and below it how many images that is."""
    colour = "white" if share > 0.55 else "black"
    weight = "bold" if row == column else "normal"
    look: dict[str, Any] = {"ha": "center", "color": colour, "in_layout": False}
    percent: dict[str, Any] = {"va": "bottom", "fontsize": big, "fontweight": weight}
    axes.text(column, row + 0.04, f"{100 * share:.0f}", **percent, **look)
    axes.text(column, row + 0.1, f"{count}", va="top", fontsize=5.5, **look)


def _recall(
    axes: Axes, recall: NDArray[np.floating[Any]], totals: NDArray[np.integer[Any]]
) -> None:
    """Draw recall as bars, with the number of images of each class at their right."""
    axes.barh(np.arange(len(recall)), recall, color=BLUE, height=0.6)
    for row, total in enumerate(totals):
        words = f"{recall[row]:.2f}\nn = {total}" if total else "n = 0"
        axes.text(1.05, row, words, fontsize=6, va="center")
    _recall_axis(axes)


def _recall_axis(axes: Axes) -> None:
    axes.axvline(1, color=GREY, linewidth=0.5)
    axes.set(xlim=(0, 1), xticks=[0, 1], xlabel="recall")
    axes.spines["left"].set_visible(False)
    axes.tick_params(labelleft=False)


def _caption(counts: NDArray[np.integer[Any]]) -> str:
    total = int(counts.sum())
    if not total:
        return "No predictions."
    present = counts.sum(1) > 0
    recall = counts.diagonal()[present] / counts.sum(1)[present]
    K = len(counts)
    how = "Percent of each true class, small print: images."
    if K > MOST_NAMED:
        how = (
            f"Share of each true class, white 0, dark 1. One in {_step(K)} of {K:,} classes named."
        )
    return (
        f"{how} Accuracy {counts.trace() / total:.3f}, "
        f"mean recall {recall.mean():.3f} over {present.sum()} classes, {total:,} images."
    )


# --- Whether a model is as often right as it claims to be


Z = 1.96  # half-width of a 95 % interval, in standard deviations


class Bins(NamedTuple):
    """Predictions by confidence, each array (n_bins,); NaN where a bin is empty."""

    edges: NDArray[np.float64]  # (n_bins + 1,)
    images: NDArray[np.int64]
    confidence: NDArray[np.float64]  # mean
    accuracy: NDArray[np.float64]
    low: NDArray[np.float64]  # 95 % interval of the accuracy
    high: NDArray[np.float64]


@style.styled
def reliability_diagram(
    confidences: NDArray[np.floating[Any]],
    right: NDArray[np.bool_],
    ece: float,
    ece_floor: float,
    n_bins: int = 15,
    title: str = "",
) -> Figure:
    """Draw accuracy against confidence in bins of equal width, above a histogram of confidence.

    Args:
        confidences: (N,) highest softmax values, 0 to 1; NaN is left out.
        right: (N,) whether the prediction is right.
        ece: expected calibration error, for the caption.
        ece_floor: what a perfectly calibrated model would score by chance.
        n_bins: number of bins, as for the ECE.
        title: model, data set and its fingerprint.

    >>> figure = reliability_diagram(np.array([0.9, 0.8]), np.array([True, False]), 0.35, 0.2)
    >>> figure.get_supxlabel().split(";")[0]
    'ECE 0.350'
    """
    style.check_lengths(confidences=confidences, right=right)
    known = np.isfinite(confidences)
    bins = binned(confidences[known], right[known], n_bins)
    figure = style.new_figure(
        style.SINGLE, 3.4, title, _reliability_caption(ece, ece_floor, int(known.sum()))
    )
    diagram, histogram = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    diagram.plot([0, 1], [0, 1], color=style.GREY, linestyle="--", linewidth=0.9)
    diagram.set(ylabel="accuracy", ylim=(0, 1), xlim=(0, 1))
    histogram.set(ylabel="images", xlabel="confidence")
    full = bins.images > 0
    if full.any():
        boxes: dict[str, Any] = {"width": 1 / n_bins, "align": "edge", "edgecolor": "white"}
        diagram.bar(bins.edges[:-1], bins.accuracy, color=style.BLUE, alpha=0.3, **boxes)
        diagram.vlines(bins.confidence, bins.low, bins.high, color=style.BLUE, linewidth=0.9)
        diagram.plot(
            bins.confidence[full], bins.accuracy[full], "o-", color=style.BLUE, markersize=3
        )
        histogram.bar(bins.edges[:-1], bins.images, color=style.GREY, **boxes)
        histogram.axvline(confidences[known].mean(), color=style.VERMILLION, linewidth=1)
        histogram.axvline(right[known].mean(), color=style.BLUE, linewidth=1, linestyle="--")
    else:
        style.note(diagram, "no predictions")
    for axes in (diagram, histogram):
        style.tidy(axes)
    return figure


def binned(confidences: NDArray[np.floating[Any]], right: NDArray[np.bool_], n_bins: int) -> Bins:
    """Sort predictions into bins [low, high) of equal width; 1.0 belongs to the last."""
    edges = np.linspace(0, 1, n_bins + 1)
    place = np.clip(np.searchsorted(edges, confidences, side="right") - 1, 0, n_bins - 1)
    count = np.bincount(place, minlength=n_bins)
    some = np.where(count > 0, count, np.nan)
    confidence = np.bincount(place, confidences, n_bins) / some
    p = np.bincount(place, right, n_bins) / some
    # Wilson's interval: sound for few images, and within 0 and 1
    middle = (p + Z**2 / (2 * some)) / (1 + Z**2 / some)
    half = Z * np.sqrt(p * (1 - p) / some + Z**2 / (4 * some**2)) / (1 + Z**2 / some)
    return Bins(edges, count, confidence, p, middle - half, middle + half)


def _reliability_caption(ece: float, floor: float, images: int) -> str:
    ece_text, floor_text = (f"{v:.3f}" if np.isfinite(v) else "n/a" for v in (ece, floor))
    return (
        f"ECE {ece_text}; a perfectly calibrated model with these {images:,} confidences would "
        f"score {floor_text}. Dashed diagonal: perfect. Vertical strokes: 95 % intervals. Below: "
        "mean confidence (orange line) and accuracy (blue, dashed)."
    )
