"""Loss and accuracy over epochs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from fer_lightning.plots.focus_rows import number
from fer_lightning.plots.style import (
    BLUE,
    GREY,
    MIDDLE,
    VERMILLION,
    legend,
    new_figure,
    note,
    styled,
    tidy,
)

PARTS: dict[str, Any] = {"train": (VERMILLION, "--", "^"), "val": (BLUE, "-", "o")}


@styled
def training_curves(
    rows: Sequence[Mapping[str, str | float | None]],
    title: str = "",
    majority: float | None = None,
) -> Figure:
    """Draw training and validation loss, and accuracy, over epochs.

    Args:
        rows: of metrics.csv, one an epoch: `epoch`, `train/loss`, `val/loss`, `train/acc`,
            `val/acc`, numbers or text; a missing number is a gap.
        title: model, data set and its fingerprint.
        majority: share of the most frequent class, drawn as the accuracy to leave behind.

    Returns:
        A figure one and a half columns wide, the epoch of the best validation accuracy marked.

    >>> rows = [{"epoch": 0, "val/acc": 0.2}, {"epoch": 1, "val/acc": "0.4"}]
    >>> training_curves(rows).get_supxlabel()
    'Best validation accuracy 0.400 in epoch 1 (vertical line).'
    """
    epochs = np.array([number(row.get("epoch")) for row in rows])
    accuracy = np.array([number(row.get("val/acc")) for row in rows])
    known = np.isfinite(accuracy).any()
    best = int(np.nanargmax(accuracy)) if known else None
    words = "No validation accuracy."
    if best is not None:
        score = f"{accuracy[best]:.3f} in epoch {epochs[best]:.0f}"
        words = f"Best validation accuracy {score} (vertical line)."
    figure = new_figure(MIDDLE, 2.1, title, words, legend_rows=1)
    panels = figure.subplots(1, 2, sharex=True)
    for axes, name, label in zip(panels, ("loss", "acc"), ("loss", "accuracy"), strict=True):
        for part, (colour, dashes, marker) in PARTS.items():
            values = np.array([number(row.get(f"{part}/{name}")) for row in rows])
            if np.isfinite(values).any():
                axes.plot(
                    epochs, values, color=colour, linestyle=dashes, marker=marker, markersize=2.5
                )
        if not axes.lines:
            note(axes, f"no {label} in these rows")
        elif best is not None:
            axes.axvline(epochs[best], color=GREY, linewidth=0.6, zorder=1)
        axes.set_ylabel(label)
        axes.set_xlabel("epoch (from 0)")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        tidy(axes)
    entries: dict[str, Artist] = {
        {"train": "training", "val": "validation"}[part]: Line2D(
            [], [], color=colour, linestyle=dashes, marker=marker, markersize=3
        )
        for part, (colour, dashes, marker) in PARTS.items()
    }
    if majority is not None:
        panels[1].axhline(majority, color=GREY, linestyle=":", linewidth=1)
        entries["largest class alone"] = Line2D([], [], color=GREY, linestyle=":")
    legend(figure, entries, ncols=3)
    return figure
