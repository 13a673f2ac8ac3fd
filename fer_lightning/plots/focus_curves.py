"""Where a model looks, epoch by epoch, against maps that know nothing of the face."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from fer_lightning.plots.focus_rows import REGIONS, FocusRow, curve, level, null_maps
from fer_lightning.plots.style import (
    BLACK,
    BLUE,
    DOUBLE,
    GREY,
    REGION_COLOURS,
    legend,
    new_figure,
    note,
    styled,
    tidy,
)

DASHES: tuple[Any, ...] = (
    "-",
    (0, (4, 2)),
    (0, (1, 1.5)),
    (0, (4, 1.5, 1, 1.5)),
    (0, (8, 2)),
)  # of null maps
WIDEST = 64.0  # LFR beyond this factor of 1 is not shown: one cold background can make it 1e8


@styled
def focus_curves(rows: Sequence[FocusRow], title: str = "") -> Figure:
    """Draw LFR of each region, the share of at least 1, LSI and background share over epochs.

    Args:
        rows: of focus.csv, columns as in `focus_rows.COLUMNS`, numbers or text.
        title: model, data set and its fingerprint.

    Returns:
        A figure as wide as two columns with nine panels: one a region (median and middle half of
        the images, logarithmic), then share, LSI and background. Null maps are grey lines.

    >>> row = {"epoch": 0, "maps": "model", "metric": "lfr", "region": "key", "median": 1.2}
    >>> [axes.get_title() for axes in focus_curves([row]).axes][-3:]
    ['share of images with LFR ≥ 1', 'LSI', 'background share']
    """
    nulls = null_maps(rows)
    entries = _entries(nulls)
    figure = new_figure(DOUBLE, 5.0, title, _caption(rows), legend_rows=math.ceil(len(entries) / 5))
    panels = figure.subplots(3, 3, sharex=True)
    for axes, region in zip(panels.flat, REGIONS, strict=False):
        _lfr_panel(axes, rows, region, nulls)
    low, high = _limits(rows)
    for axes in panels[:2].flat:
        axes.set_yscale("log", base=2)
        axes.set_ylim(low, high)
        axes.yaxis.set_major_locator(LogLocator(base=2, numticks=8))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for axes in panels[:2, 0]:
        axes.set_ylabel("LFR")
    _share_panel(panels[2, 0], rows)
    for axes, metric, name in zip(
        panels[2, 1:], ("lsi", "background"), ("LSI", "background share"), strict=True
    ):
        _band(axes, rows, metric, "", BLUE)
        _null_lines(axes, rows, metric, "", nulls)
        axes.set_title(name)
        axes.set_ylim(bottom=0)
    for axes in panels.flat:
        tidy(axes)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        if not axes.lines:
            note(axes, "no numbers")
    for axes in panels[2]:
        axes.set_xlabel("epoch (from 0)")
    legend(figure, entries, ncols=5)
    return figure


def _lfr_panel(axes: Axes, rows: Sequence[FocusRow], region: str, nulls: list[str]) -> None:
    _band(axes, rows, "lfr", region, REGION_COLOURS[region])
    _null_lines(axes, rows, "lfr", region, nulls)
    axes.set_title(region)


def _band(axes: Axes, rows: Sequence[FocusRow], metric: str, region: str, colour: str) -> None:
    """Draw the median, and the middle half as a band."""
    epochs, median = curve(rows, "median", metric, region)
    low, high = (curve(rows, name, metric, region)[1] for name in ("q25", "q75"))
    if np.isfinite(median).any():
        axes.fill_between(epochs, low, high, color=colour, alpha=0.25, linewidth=0)
        axes.plot(epochs, median, color=colour, marker="o", markersize=2)


def _null_lines(
    axes: Axes, rows: Sequence[FocusRow], metric: str, region: str, nulls: list[str]
) -> None:
    for maps, dashes in zip(nulls, DASHES * len(nulls), strict=False):
        height = level(rows, "median", metric, region, maps)
        if np.isfinite(height):
            axes.axhline(height, color=GREY, linewidth=0.9, linestyle=dashes, zorder=1)


def _share_panel(axes: Axes, rows: Sequence[FocusRow]) -> None:
    """Draw the shares of all regions, and that of zero maps, which the shares leave out."""
    for region in REGIONS:
        epochs, share = curve(rows, "share_ge_1", "lfr", region)
        if np.isfinite(share).any():
            axes.plot(epochs, share, color=REGION_COLOURS[region], marker="o", markersize=2)
    epochs, zero = curve(rows, "zero_maps", "lfr", "key")
    part = zero / curve(rows, "n", "lfr", "key")[1]
    if np.isfinite(part).any():
        axes.plot(epochs, part, color=BLACK, linestyle=":", marker="x", markersize=3)
    axes.set_ylim(-0.03, 1.03)
    axes.set_title("share of images with LFR ≥ 1")


def _limits(rows: Sequence[FocusRow]) -> tuple[float, float]:
    """A range of LFR that holds all bands and null lines, 1 in any case, within WIDEST."""
    values = [1.0]
    for region in REGIONS:
        for column in ("q25", "median", "q75"):
            values += curve(rows, column, "lfr", region)[1].tolist()
        values += [level(rows, "median", "lfr", region, maps) for maps in null_maps(rows)]
    shown = np.clip([value for value in values if np.isfinite(value)], 1 / WIDEST, WIDEST)
    return float(min(shown.min(), 0.8) / 1.15), float(max(shown.max(), 1.25) * 1.15)


def _entries(nulls: list[str]) -> dict[str, Artist]:
    entries: dict[str, Artist] = {
        region: Line2D([], [], color=REGION_COLOURS[region], marker="o", markersize=2)
        for region in REGIONS
    }
    entries["zero maps"] = Line2D([], [], color=BLACK, linestyle=":", marker="x", markersize=3)
    for maps, dashes in zip(nulls, DASHES * len(nulls), strict=False):
        entries[f"null: {maps.replace('_', ' ')}"] = Line2D([], [], color=GREY, linestyle=dashes)
    return entries


def _caption(rows: Sequence[FocusRow]) -> str:
    counts = curve(rows, "n", "lfr", "key")[1]
    images = f"{counts[-1]:.0f} images. " if len(counts) and np.isfinite(counts[-1]) else ""
    return (
        f"{images}Lines: median; bands: middle half of the images. Zero maps are counted (dotted) "
        "and left out of all other numbers. Grey: what maps score that know nothing of the face."
    )
