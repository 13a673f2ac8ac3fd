"""How LFR is spread over images, for models and for maps that know nothing of the face."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from fer_lightning.errors import UserError
from fer_lightning.plots.focus_rows import REGIONS
from fer_lightning.plots.style import BLACK, DOUBLE, GREY, REGION_COLOURS, new_figure, styled, tidy

PANELS_IN_A_ROW = 3
WIDEST = 32.0  # LFR beyond this factor of 1 is drawn at the border
CAPTION = (
    "Dots: images; boxes: middle half and median{nulls}. Triangles at a border: images beyond it. "
    "Vertical line: LFR 1, as much heat inside the region as outside. Zero maps have no LFR; the "
    "label says how many there are."
)


@styled
def focus_distribution(
    lfr: Mapping[str, NDArray[np.floating[Any]]],
    nulls: Sequence[str] = (),
    regions: Sequence[str] = REGIONS,
    title: str = "",
    seed: int = 0,
) -> Figure:
    r"""Draw the LFR of every image on a logarithmic axis, a panel a region, a row a kind of map.

    Args:
        lfr: name → (N, R), NaN where the map is zero everywhere; N may differ. Rows in this order.
        nulls: the names that are null maps; they are drawn in grey.
        regions: the R names.
        title: data set and its fingerprint.
        seed: of the dots' scatter across their row.

    Returns:
        A figure as wide as two columns.

    Raises:
        UserError: no maps, or an array without one column a region.

    >>> figure = focus_distribution({"vit": np.array([[2.0], [np.nan]])}, regions=["key"])
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['vit\n1/2 zero maps']
    """
    for name, values in lfr.items():
        if values.ndim != 2 or values.shape[1] != len(regions):
            raise UserError(
                f"expected LFR of shape (images, {len(regions)}) for '{name}' but got "
                f"{values.shape}; give one column a region: {', '.join(regions)}"
            )
    if not lfr:
        raise UserError("expected LFR of at least one kind of map but got none; add the model's")
    columns = min(PANELS_IN_A_ROW, len(regions))
    lines = math.ceil(len(regions) / columns)
    caption = CAPTION.format(nulls="; grey rows: null maps" if nulls else "")
    figure = new_figure(DOUBLE, lines * (0.5 + 0.33 * len(lfr)), title, caption)
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    low, high = _limits(lfr)
    rng = np.random.default_rng(seed)
    for axes, region, column in zip(panels.flat, regions, range(len(regions)), strict=False):
        axes.axvline(1, color=BLACK, linewidth=0.6, zorder=1)
        for row, (name, values) in enumerate(lfr.items()):
            colour = GREY if name in nulls else REGION_COLOURS.get(region, BLACK)
            _row(axes, values[:, column], row, colour, low, high, rng)
        axes.set_title(region)
        _axis(axes, low, high)
    for axes in panels.flat[len(regions) :]:
        axes.set_visible(False)
    panels[0, 0].set_yticks(range(len(lfr)), [_label(name, v) for name, v in lfr.items()])
    panels[0, 0].set_ylim(len(lfr) - 0.5, -0.5)
    for axes in panels[-1]:
        axes.set_xlabel("LFR")
    return figure


def _row(
    axes: Axes,
    values: NDArray[np.floating[Any]],
    row: int,
    colour: str,
    low: float,
    high: float,
    rng: np.random.Generator,
) -> None:
    """Draw dots, a box, and triangles for what lies beyond the borders."""
    values = values[~np.isnan(values)]
    if not len(values):
        axes.text(1, row, " only zero maps", fontsize=6.5, color=GREY, style="italic", va="center")
        return
    scatter = row + rng.uniform(-0.3, 0.3, len(values))
    within = (values >= low) & (values <= high)
    axes.scatter(
        values[within], scatter[within], 3, colour, alpha=0.4, linewidths=0, rasterized=True
    )
    for beyond, border, marker in ((values < low, low, "<"), (values > high, high, ">")):
        axes.scatter(np.full(beyond.sum(), border), scatter[beyond], 6, colour, marker=marker)
    q25, median, q75 = np.clip(np.quantile(values, (0.25, 0.5, 0.75)), low, high)
    axes.plot([q25, q75, q75, q25, q25], row + 0.34 * np.array([-1, -1, 1, 1, -1]), BLACK, lw=0.7)
    axes.plot([median, median], [row - 0.34, row + 0.34], BLACK, linewidth=1.8)


def _label(name: str, values: NDArray[np.floating[Any]]) -> str:
    """Name a row and count its zero maps, which have no LFR of any region."""
    zero = int(np.isnan(values).all(1).sum())
    return f"{name.replace('_', ' ')}\n{zero}/{len(values)} zero maps"


def _limits(lfr: Mapping[str, NDArray[np.floating[Any]]]) -> tuple[float, float]:
    """A range around 1 that holds 98 % of the values of each row, within WIDEST."""
    ends = [
        np.quantile(values[np.isfinite(values)], (0.01, 0.99))
        for values in lfr.values()
        if np.isfinite(values).any()
    ]
    shown = np.clip(np.ravel([*ends, [0.5, 2.0]]), 1 / WIDEST, WIDEST)
    return float(shown.min() / 1.1), float(shown.max() * 1.1)


def powers_of_two(low: float, high: float, most: int = 5) -> list[float]:
    """Choose evenly spaced powers of two within a range, 1 among them, few enough to be read.

    >>> powers_of_two(0.4, 9)
    [0.5, 1.0, 2.0, 4.0, 8.0]
    >>> powers_of_two(0.03, 8)
    [0.0625, 0.25, 1.0, 4.0]
    """
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    step = -(-(last - first + 1) // most)
    return [2.0**power for power in range(first, last + 1) if power % step == 0]


def _axis(axes: Axes, low: float, high: float) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xlim(low / 1.1, high * 1.1)
    axes.xaxis.set_major_locator(FixedLocator(powers_of_two(low, high)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    tidy(axes)
    axes.tick_params(axis="y", length=0)
