"""The controls on the terminal and as CSV: tables of 80 columns, and every number in the file."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from fer_lightning.data.regions import Regions

Row = Mapping[str, Any]
FOCUS_COLUMNS = ("LFR mean ± SD", "median", "log", "≥1.0 %", "LSI", "bg", "mass", "zeros")
_LEGEND = (
    "log: mean ln LFR. ≥1.0 %: images with LFR of at least 1, zero maps left out/counted as 0. "
    "bg: share of heat outside the {outside}. mass: share of heat over share of area. "
    "zeros: zero maps."
)


def legend(regions: Regions) -> str:
    """Say what the columns of a focus table mean.

    >>> from fer_lightning.data.regions import FACE
    >>> "outside the face." in legend(FACE)
    True
    """
    whole = regions.outside
    return _LEGEND.format(outside=regions.titles.get(whole, whole) if whole else regions.subject)


def sees_nothing(rows: Iterable[Row]) -> bool:
    """Whether all of the model's own maps are zero, so that tables of them hold no number."""
    own = [row for row in rows if row["source"] == "model" and row["masks"] == "given"]
    return all(row["zero_maps"] == row["n"] for row in own)


def to_csv(rows: Sequence[Row]) -> str:
    """Write rows as CSV text; columns are those of all rows, empty where a row has none.

    >>> to_csv([{"a": 1, "b": 0.1234567891}, {"a": 2, "c": float("nan")}]).splitlines()
    ['a,b,c', '1,0.123457,', '2,,nan']
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    return text.getvalue()


def focus_view(rows: Iterable[Row], resolution: str, regions: Regions) -> Table:
    """Lay out the model's regions, and beneath them the primary one of each null map.

    Args:
        rows: as `tabulate` makes them.
        resolution: "native" or "matched".
        regions: of the data set.
    """
    primary = regions.primary
    rows = [r for r in rows if r["resolution"] == resolution and r["masks"] == "given"]
    of_model = {row["region"]: row for row in rows if row["source"] == "model"}
    first = of_model[primary]
    title = f"Focus at {resolution} resolution: {first['grid']} cells, N={first['n']}"
    table = _table(title, ["region"], FOCUS_COLUMNS)
    for region in regions.rows:
        table.add_row(regions.title(region), *_focus_cells(of_model[region]))
    nulls = [row for row in rows if row["source"] != "model" and row["region"] == primary]
    if nulls:
        table.add_section()
        table.add_row(f"{regions.title(primary)} of")
    for row in nulls:
        table.add_row(f" {_name(row)}", *_focus_cells(row))
    return table


def verdict(rows: Iterable[Row], regions: Regions) -> str:
    """Say which null maps reach the model's median LFR of the primary region at one resolution.

    >>> from fer_lightning.data.regions import FACE
    >>> same = {"resolution": "matched", "masks": "given", "region": "key", "grid": "6x6"}
    >>> model = {"source": "model", "seed": "", "lfr_median": 1.6}
    >>> blob = {"source": "gaussian_0.17", "seed": "", "lfr_median": 2.4}
    >>> verdict([same | model, same | blob], FACE)
    'KEY at 6x6 cells: median LFR 1.600, which gaussian 0.17 (2.400) reaches without looking.'
    """
    name = regions.title(regions.primary)
    wanted = {"resolution": "matched", "masks": "given", "region": regions.primary}
    model, *nulls = [row for row in rows if wanted.items() <= row.items()]
    start = f"{name} at {model['grid']} cells: median LFR {number(model['lfr_median'])}, which "
    reaching = [
        f"{_name(row)} ({number(row['lfr_median'])})"
        for row in nulls
        if row["lfr_median"] >= model["lfr_median"]
    ]
    if math.isnan(model["lfr_median"]):
        return f"{name} has no LFR: every map is zero."
    if not reaching:
        return f"{start}no null map reaches."
    verb = "reaches" if len(reaching) == 1 else "reach"
    return f"{start}{', '.join(reaching)} {verb} without looking."


def masks_view(rows: Iterable[Row], regions: Regions) -> Table:
    """Lay out the model's primary region under each variant of the masks."""
    name = regions.title(regions.primary)
    title = f"{name} under masks 2 px (of 48) larger, smaller, or of another image"
    table = _table(title, ["masks"], (*FOCUS_COLUMNS, "N"))
    for row in rows:
        if row["source"] == "model" and row["region"] == regions.primary:
            if row["masks"] == "given":
                table.add_section()
                table.add_row(row["resolution"])
            table.add_row(f" {row['masks']}", *_focus_cells(row), str(row["n"]))
    return table


def hiding_view(rows: Sequence[Row], regions: Regions) -> Table:
    """Lay out what hiding did; random patches as the mean over their seeds."""
    columns = ("area %", "covers %", "accuracy", "drop", "logit drop")
    table = _table("Regions hidden, and patches of the same area", ["hidden", "fill"], columns)
    table.caption = "covers: how much of the region a patch hides. The same for every method."
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["region"], row["fill"], row["patch"]), []).append(row)
    for (region, fill, patch), same in groups.items():
        mean = {
            name: sum(row[name] for row in same) / len(same)
            for name in ("area_share", "covers", "acc_hidden", "acc_drop", "logit_drop")
        }
        table.add_row(
            regions.titles.get(region, region.upper()) if patch == "region" else f" {patch}",
            fill,
            percent(mean["area_share"]),
            percent(mean["covers"]),
            *(number(mean[name]) for name in ("acc_hidden", "acc_drop", "logit_drop")),
        )
    return table


def hiding_words(rows: Sequence[Row], regions: Regions) -> str:
    """Say how well a method's maps foretell what hiding does, image by image.

    >>> from fer_lightning.data.regions import FACE
    >>> row = {"region": "key", "fill": "mean", "spearman": 0.5, "pairs": 200}
    >>> hiding_words([row], FACE)  # doctest: +NORMALIZE_WHITESPACE
    "Rank correlation with the logit's drop by hiding beyond random patches:
    KEY, mean 0.500 (200)."
    """
    told = [
        f"{regions.titles.get(row['region'], row['region'].upper())}, {row['fill']} "
        f"{number(row['spearman'])} ({row['pairs']})"
        for row in rows
        if row.get("spearman") is not None
    ]
    start = "Rank correlation with the logit's drop by hiding beyond random patches: "
    return f"{start}{'; '.join(told) or 'none'}."


def randomisation_view(rows: Iterable[Row]) -> Table:
    """Lay out how alike maps stay when layers are made untrained from the top down."""
    columns = ("parameters %", "Spearman", "Pearson", "undefined")
    table = _table("Maps with layers randomised from the top down", ["down to layer"], columns)
    table.caption = "Correlation with the model's own maps; undefined where one of them is zero."
    for row in rows:
        if row["map"] == "heat":
            cells = [number(row["spearman"]), number(row["pearson"]), str(row["undefined"])]
            table.add_row(row["layer"], percent(row["parameters"]), *cells)
    return table


def _focus_cells(row: Row) -> list[str]:
    out, zeros_in = percent(row["lfr_share_ge_1"]), percent(row["lfr_share_ge_1_zeros_in"])
    return [
        f"{number(row['lfr_mean'])} ± {number(row['lfr_sd'])}",
        number(row["lfr_median"]),
        number(row["lfr_log_mean"]),
        f"{out}/{zeros_in}",
        *(number(row[name]) for name in ("lsi", "background_share", "mass_ratio")),
        str(row["zero_maps"]),
    ]


def _table(title: str, left: Sequence[str], right: Sequence[str]) -> Table:
    table = Table(*left, title=title, title_style="bold", box=box.SIMPLE_HEAD, padding=0)
    for name in right:
        table.add_column(name, justify="right")
    return table


def _name(row: Row) -> str:
    return f"{row['source']} {row['seed']}".strip().replace("_", " ")


def number(value: float) -> str:
    """Write a number in at most six characters.

    >>> [number(v) for v in (1.8456, 53.03, -421.7, 40545.3, math.nan)]
    ['1.846', '53.03', '-422', '4.1e4', '-']
    """
    if math.isnan(value):
        return "-"
    size = abs(value)
    if size >= 1000:
        return f"{value:.1e}".replace("e+0", "e")
    return f"{value:.{3 if size < 10 else 2 if size < 100 else 0}f}"


def percent(value: float) -> str:
    """Write a share in percent.

    >>> percent(0.775), percent(math.nan)
    ('77.5', '-')
    """
    return "-" if math.isnan(value) else f"{100 * value:.1f}"
