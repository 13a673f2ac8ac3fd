"""Whether a model is as often right as it claims to be."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fer_lightning.plots import style

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
    figure = style.new_figure(style.SINGLE, 3.4, title, _caption(ece, ece_floor, int(known.sum())))
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


def _caption(ece: float, floor: float, images: int) -> str:
    ece_text, floor_text = (f"{v:.3f}" if np.isfinite(v) else "n/a" for v in (ece, floor))
    return (
        f"ECE {ece_text}; a perfectly calibrated model with these {images:,} confidences would "
        f"score {floor_text}. Dashed diagonal: perfect. Vertical strokes: 95 % intervals. Below: "
        "mean confidence (orange line) and accuracy (blue, dashed)."
    )
