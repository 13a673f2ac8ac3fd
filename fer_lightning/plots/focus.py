"""How LFR is spread over images, for models and for maps that know nothing of the picture."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator
from numpy.typing import NDArray

from fer_lightning.data.regions import FACE, Regions
from fer_lightning.errors import UserError
from fer_lightning.plots.style import (
    BLACK,
    BLUE,
    DOUBLE,
    GREY,
    MIDDLE,
    counted,
    epoch_axis,
    legend,
    model_look,
    new_figure,
    note,
    region_colours,
    styled,
    tidy,
)

if TYPE_CHECKING:
    import pandas as pd

# --- The rows of focus_epochs.csv, and reading one curve from them


# One row says how one metric of one kind of map is distributed over the probe images of one epoch.
COLUMNS = {
    "epoch": "counted from 0; empty for a null map that is the same in all epochs",
    "method": "how the maps were made; 'grad_cam' in files without this column",
    "maps": "'model' for the model's own maps, else the name of a null map: 'uniform', ...",
    "metric": "'lfr', 'lsi' or 'background'",
    "region": "a row of the data set's regions for lfr, empty for the others",
    "n": "images, zero maps included",
    "zero_maps": "images whose map is zero everywhere; they are left out of all that follows",
    "mean": "",
    "sd": "with n-1 in the denominator",
    "median": "",
    "q25": "lower quartile",
    "q75": "upper quartile",
    "log_mean": "mean natural logarithm, lfr only",
    "share_ge_1": "share of images with at least 1, lfr only",
}
MODEL = "model"
FocusRow = Mapping[str, str | float | None]
Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


def number(value: str | float | None) -> float:
    """Read a cell; an empty or unreadable one is NaN.

    >>> number("0.5"), number(2), number("")
    (0.5, 2.0, nan)
    """
    try:
        return float(value) if value is not None else math.nan
    except ValueError:
        return math.nan


def curve(
    rows: Sequence[FocusRow], column: str, metric: str, region: str = "", maps: str = MODEL
) -> Curve:
    """Return the epochs, ascending, and the values of one column in them.

    >>> row = {"maps": "model", "metric": "lsi", "region": ""}
    >>> rows = [row | {"epoch": "1", "mean": "0.3"}, row | {"epoch": "0", "mean": "0.2"}]
    >>> curve(rows, "mean", "lsi")
    (array([0., 1.]), array([0.2, 0.3]))
    """
    wanted = (maps, metric, region)
    found = sorted(
        (number(row.get("epoch")), number(row.get(column)))
        for row in rows
        if (row.get("maps"), row.get("metric"), row.get("region") or "") == wanted
    )
    epochs, values = np.array(found, np.float64).reshape(-1, 2).T
    return epochs, values


def null_maps(rows: Sequence[FocusRow]) -> list[str]:
    """Return the names of the null maps in their order of appearance."""
    return list(dict.fromkeys(str(row["maps"]) for row in rows if row.get("maps") != MODEL))


def level(rows: Sequence[FocusRow], column: str, metric: str, region: str, maps: str) -> float:
    """Return the median over epochs of a null map's number, NaN where there is none."""
    values = curve(rows, column, metric, region, maps)[1]
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else math.nan


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
    regions: Sequence[str] = FACE.rows,
    title: str = "",
    seed: int = 0,
) -> Figure:
    r"""Draw the LFR of every image on a logarithmic axis: one panel per region, a row per map.

    Args:
        lfr: name → (N, R), NaN where the map is zero everywhere; N may differ. Rows in this order.
        nulls: the names that are null maps; they are drawn in grey.
        regions: the R names.
        title: data set and its fingerprint.
        seed: of the dots' scatter across their row.

    Returns:
        A figure as wide as two columns.

    Raises:
        UserError: no maps, or an array without one column per region.

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
            colour = GREY if name in nulls else region_colours(regions)[region]
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


# --- Where a model looks, epoch by epoch, against maps that know nothing of the picture


DASHES: tuple[Any, ...] = (
    "-",
    (0, (4, 2)),
    (0, (1, 1.5)),
    (0, (4, 1.5, 1, 1.5)),
    (0, (8, 2)),
)  # of null maps
WIDEST_CURVES = 64.0  # LFR beyond this factor is not shown: one cold background makes it 1e8


@styled
def focus_curves(rows: Sequence[FocusRow], regions: Regions = FACE, title: str = "") -> Figure:
    """Draw LFR of each region, the share of at least 1, LSI and background share over epochs.

    Args:
        rows: of focus_epochs.csv and one method, columns as in `COLUMNS`, numbers or text.
        regions: of the data set.
        title: model, data set and its fingerprint.

    Returns:
        A figure as wide as two columns: one panel per region (median and middle half of the
        images, logarithmic), then share, LSI and background. Null maps are grey lines.

    >>> row = {"epoch": 0, "maps": "model", "metric": "lfr", "region": "key", "median": 1.2}
    >>> [axes.get_title() for axes in focus_curves([row]).axes][-3:]
    ['share of images with LFR ≥ 1', 'LSI', 'background share']
    """
    nulls = null_maps(rows)
    entries = _entries(nulls, regions)
    above = math.ceil(len(regions.rows) / PANELS_IN_A_ROW)  # rows of panels for LFR
    caption = _caption(rows, regions)
    height = 1.2 + 1.27 * (above + 1)
    figure = new_figure(DOUBLE, height, title, caption, legend_rows=math.ceil(len(entries) / 5))
    panels = figure.subplots(above + 1, PANELS_IN_A_ROW, sharex=True, squeeze=False)
    for axes, region in zip(panels.flat, regions.rows, strict=False):
        _band(axes, rows, "lfr", region, region_colours(regions.rows)[region])
        _null_lines(axes, rows, "lfr", region, nulls)
        axes.set_title(region)
    for axes in panels[:above].flat[len(regions.rows) :]:
        axes.set_axis_off()
    low, high = _curve_limits(rows, regions)
    for axes in panels[:above].flat[: len(regions.rows)]:
        axes.set_yscale("log", base=2)
        axes.set_ylim(low, high)
        axes.yaxis.set_major_locator(LogLocator(base=2, numticks=8))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for axes in panels[:above, 0]:
        axes.set_ylabel("LFR")
    _share_panel(panels[-1, 0], rows, regions)
    for axes, metric, name in zip(
        panels[-1, 1:], ("lsi", "background"), ("LSI", "background share"), strict=True
    ):
        _band(axes, rows, metric, "", BLUE)
        _null_lines(axes, rows, metric, "", nulls)
        axes.set_title(name)
        axes.set_ylim(bottom=0)
    for axes in panels.flat:
        tidy(axes)
        epoch_axis(axes)
        if not axes.lines and axes.axison:
            note(axes, "no numbers")
    for axes in panels[-1]:
        axes.set_xlabel("epoch")
    legend(figure, entries, ncols=5)
    return figure


def _band(axes: Axes, rows: Sequence[FocusRow], metric: str, region: str, colour: str) -> None:
    """Draw the median, and the middle half as a band."""
    epochs, median = curve(rows, "median", metric, region)
    low, high = (curve(rows, name, metric, region)[1] for name in ("q25", "q75"))
    if np.isfinite(median).any():
        axes.fill_between(counted(epochs), low, high, color=colour, alpha=0.25, linewidth=0)
        axes.plot(counted(epochs), median, color=colour, marker="o", markersize=2)


def _null_lines(
    axes: Axes, rows: Sequence[FocusRow], metric: str, region: str, nulls: list[str]
) -> None:
    for maps, dashes in zip(nulls, DASHES * len(nulls), strict=False):
        height = level(rows, "median", metric, region, maps)
        if np.isfinite(height):
            axes.axhline(height, color=GREY, linewidth=0.9, linestyle=dashes, zorder=1)


def _share_panel(axes: Axes, rows: Sequence[FocusRow], regions: Regions) -> None:
    """Draw the shares of all regions, and that of zero maps, which the shares leave out."""
    for region, colour in region_colours(regions.rows).items():
        epochs, share = curve(rows, "share_ge_1", "lfr", region)
        if np.isfinite(share).any():
            axes.plot(counted(epochs), share, color=colour, marker="o", markersize=2)
    epochs, zero = curve(rows, "zero_maps", "lfr", regions.primary)
    part = zero / curve(rows, "n", "lfr", regions.primary)[1]
    if np.isfinite(part).any():
        axes.plot(counted(epochs), part, color=BLACK, linestyle=":", marker="x", markersize=3)
    axes.set_ylim(-0.03, 1.03)
    axes.set_title("share of images with LFR ≥ 1")


def _curve_limits(rows: Sequence[FocusRow], regions: Regions) -> tuple[float, float]:
    """A range of LFR that holds all bands and null lines, 1 in any case, within WIDEST."""
    values = [1.0]
    for region in regions.rows:
        for column in ("q25", "median", "q75"):
            values += curve(rows, column, "lfr", region)[1].tolist()
        values += [level(rows, "median", "lfr", region, maps) for maps in null_maps(rows)]
    finite = [value for value in values if np.isfinite(value)]
    shown = np.clip(finite, 1 / WIDEST_CURVES, WIDEST_CURVES)
    return float(min(shown.min(), 0.8) / 1.15), float(max(shown.max(), 1.25) * 1.15)


def _entries(nulls: list[str], regions: Regions) -> dict[str, Artist]:
    entries: dict[str, Artist] = {
        region: Line2D([], [], color=colour, marker="o", markersize=2)
        for region, colour in region_colours(regions.rows).items()
    }
    entries["zero maps"] = Line2D([], [], color=BLACK, linestyle=":", marker="x", markersize=3)
    for maps, dashes in zip(nulls, DASHES * len(nulls), strict=False):
        entries[f"null: {maps.replace('_', ' ')}"] = Line2D([], [], color=GREY, linestyle=dashes)
    return entries


def _caption(rows: Sequence[FocusRow], regions: Regions) -> str:
    counts = curve(rows, "n", "lfr", regions.primary)[1]
    images = f"{counts[-1]:.0f} images. " if len(counts) and np.isfinite(counts[-1]) else ""
    return (
        f"{images}Lines: median; bands: middle half of the images. Zero maps are counted (dotted) "
        "and left out of all other numbers. Grey: what maps score that know nothing."
    )


@styled
def focus_by_method(
    samples: "pd.DataFrame", regions: Sequence[str] = FACE.rows, title: str = ""
) -> Figure:
    """Draw the LFR of single images by region and method, as boxes with their images.

    Args:
        samples: rows of focus_samples.csv at one resolution: ``method`` and ``lfr_<region>``.
        regions: which to draw, from top to bottom.
        title: model and data.

    >>> import pandas as pd
    >>> one = {"method": "grad_cam", "lfr_eyes": 1.5}
    >>> focus_by_method(pd.DataFrame([one, one]), ["eyes"]).axes[0].get_xlabel()
    'LFR of single images'
    """
    import seaborn as sns  # here, because it takes a second that a training need not wait for

    columns = [f"lfr_{name}" for name in regions]
    tidy_rows = samples.melt("method", columns, "region", "lfr")
    tidy_rows["region"] = tidy_rows["region"].str.removeprefix("lfr_")
    tidy_rows["lfr"] = tidy_rows["lfr"].clip(1 / WIDEST, WIDEST)
    caption = (
        "Dots: images; boxes: middle half and median. Vertical line: as much heat inside the "
        f"region as outside. Beyond {WIDEST:g} times 1 images lie at the border; zero maps have no "
        "LFR."
    )
    methods = list(dict.fromkeys(samples["method"]))
    figure = new_figure(MIDDLE, 1.2 + 0.3 * len(regions) * len(methods), title, caption)
    axes = figure.subplots()
    colours = sns.color_palette("colorblind", len(methods))
    common: dict[str, Any] = {
        "data": tidy_rows,
        "x": "lfr",
        "y": "region",
        "hue": "method",
        "order": list(regions),
        "hue_order": methods,
        "palette": colours,
        "log_scale": 2,
        "ax": axes,
    }
    sns.boxplot(**common, fill=False, showfliers=False, linewidth=0.9)
    sns.stripplot(**common, dodge=True, size=2, alpha=0.4, legend=False)
    axes.axvline(1, color=GREY, linewidth=0.8, zorder=0)
    axes.set(xlabel="LFR of single images", ylabel="")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    sns.move_legend(axes, "best", title="", frameon=False)
    tidy(axes)
    return figure


Bounds = tuple[float, float, float]  # low, mean, high


@styled
def separation_by_method(
    found: Mapping[str, Mapping[str, Mapping[str, Bounds]]], least: float, title: str
) -> Figure:
    """Draw how well methods tell two models apart whose truth is known: one panel per model.

    Args:
        found: model → method → metric → bounds of the separation, from 0 to 1.
        least: the lowest bound that passes.
        title: of the figure.

    >>> figure = separation_by_method({"cnn": {"grad_cam": {"LFR": (0.7, 0.8, 0.9)}}}, 0.9, "t")
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['grad_cam']
    """
    methods = list(dict.fromkeys(method for of in found.values() for method in of))
    metrics = list(
        dict.fromkeys(metric for of in found.values() for some in of.values() for metric in some)
    )
    figure = new_figure(DOUBLE, 0.9 + 0.28 * len(methods), title, legend_rows=1)
    panels = figure.subplots(1, len(found), sharex=True, sharey=True, squeeze=False)[0]
    drawn: dict[str, Artist] = {}
    for axes, (model, of) in zip(panels, found.items(), strict=True):
        axes.axvline(least, color=BLACK, linewidth=0.6, linestyle="--", zorder=1)
        axes.axvline(0.5, color=GREY, linewidth=0.6, zorder=1)
        for row, method in enumerate(methods):
            for k, (metric, (low, mean, high)) in enumerate(of.get(method, {}).items()):
                place = row + 0.6 * ((k + 0.5) / len(metrics) - 0.5)
                look = model_look(metrics.index(metric))
                axes.plot([low, high], [place, place], color=look.colour, linewidth=1.4)
                (drawn[metric],) = axes.plot(
                    mean, place, color=look.colour, marker=look.marker, markersize=4, linestyle=""
                )
        axes.set(title=model, xlabel="separation of p = 0 and p = 1", xlim=(-0.02, 1.02))
        tidy(axes)
    panels[0].set_yticks(range(len(methods)), methods)
    panels[0].set_ylim(len(methods) - 0.5, -0.5)
    legend(figure, drawn, len(drawn))
    return figure
