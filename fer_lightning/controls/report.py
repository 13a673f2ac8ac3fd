"""The controls as files and on the terminal."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table

from fer_lightning.controls.measure import ROWS

Row = Mapping[str, Any]
FOCUS_COLUMNS: tuple[str, ...] = (
    *("LFR mean ± SD", "median", "log", "≥1.0 %", "zeros as 0"),
    *("LSI", "backgr.", "mass", "point", "AUC", "zero maps"),
)


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
        writer.writerow(
            {name: f"{v:.6g}" if isinstance(v, float) else v for name, v in row.items()}
        )
    return text.getvalue()


def focus_view(rows: Iterable[Row], resolution: str) -> Table:
    """Lay out the model's regions, and beneath them KEY of each null map, at one resolution.

    Args:
        rows: as `tabulate` makes them.
        resolution: "native" or "matched".
    """
    rows = [r for r in rows if r["resolution"] == resolution and r["masks"] == "given"]
    of_model = {row["region"]: row for row in rows if row["source"] == "model"}
    first = of_model["key"]
    table = Table(
        title=f"focus at {resolution} resolution, {first['grid']} cells, N={first['n']}",
        caption="≥1.0 %: zero maps left out, or counted as LFR 0; log: mean ln LFR; "
        "backgr.: share of heat outside the face; mass: share of heat over share of area",
    )
    table.add_column("region")
    for name in FOCUS_COLUMNS:
        table.add_column(name, justify="right")
    for region in ROWS:
        table.add_row(region.upper(), *_focus_cells(of_model[region]), end_section=region == "all")
    for row in rows:
        if row["source"] != "model" and row["region"] == "key":
            name = f"KEY {row['source']} {row['seed']}".strip().replace("_", " ")
            table.add_row(name, *_focus_cells(row))
    return table


def masks_view(rows: Iterable[Row]) -> Table:
    """Lay out KEY of the model under each variant of the masks."""
    table = Table(title="KEY under other masks", caption="2 px of 48 more or less; another image's")
    for name in ("masks", "resolution", *FOCUS_COLUMNS, "N"):
        table.add_column(name, justify="left" if name in ("masks", "resolution") else "right")
    for row in rows:
        if row["source"] == "model" and row["region"] == "key":
            cells = (row["masks"], row["resolution"], *_focus_cells(row), str(row["n"]))
            table.add_row(*cells, end_section=row["masks"] == "shuffled")
    return table


def _focus_cells(row: Row) -> list[str]:
    return [
        f"{number(row['lfr_mean'])} ± {number(row['lfr_sd'])}",
        number(row["lfr_median"]),
        number(row["lfr_log_mean"]),
        percent(row["lfr_share_ge_1"]),
        percent(row["lfr_share_ge_1_zeros_in"]),
        number(row["lsi"]),
        number(row["background_share"]),
        number(row["mass_ratio"]),
        number(row["pointing_game"]),
        number(row["mask_auc"]),
        str(row["zero_maps"]),
    ]


def occlusion_view(rows: Sequence[Row]) -> Table:
    """Lay out what hiding did; random patches as the mean over their seeds."""
    table = Table(
        title="hidden regions against patches of the same area",
        caption="covers: share of the region that the patch hides too; rank corr.: of "
        "KEY's LFR, or of the background share, with the drop beyond that of random patches",
    )
    for name in (
        "hidden",
        "fill",
        "area",
        "covers",
        "accuracy",
        "drop",
        "logit drop",
        "rank corr.",
    ):
        table.add_column(name, justify="left" if name in ("hidden", "fill") else "right")
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["region"], row["fill"], row["patch"]), []).append(row)
    for (region, fill, patch), same in groups.items():
        mean = {
            name: sum(row[name] for row in same) / len(same)
            for name in ("area_share", "covers", "acc_hidden", "acc_drop", "logit_drop")
        }
        rho = same[0].get("spearman")
        table.add_row(
            region.upper() if patch == "region" else f"{patch}, as large",
            fill,
            percent(mean["area_share"]),
            percent(mean["covers"]),
            number(mean["acc_hidden"]),
            number(mean["acc_drop"]),
            number(mean["logit_drop"]),
            "" if rho is None else f"{number(rho)} ({same[0]['pairs']})",
            end_section=patch == "random",
        )
    return table


def randomisation_view(rows: Iterable[Row]) -> Table:
    """Lay out how alike maps stay when layers are made untrained from the top down."""
    table = Table(title="maps after randomising layers from the top down, against the model's own")
    for name in ("down to layer", "parameters", "Spearman", "Pearson", "undefined"):
        table.add_column(name, justify="left" if name == "down to layer" else "right")
    for row in rows:
        if row["map"] == "heat":
            cells = [number(row["spearman"]), number(row["pearson"]), str(row["undefined"])]
            table.add_row(row["layer"], percent(row["parameters"]), *cells)
    return table


def number(value: float) -> str:
    """Write a number in few characters: three decimals, or three digits where it is large.

    >>> number(1.8456), number(40545.3), number(float("nan"))
    ('1.846', '4.05e+04', '-')
    """
    if math.isnan(value):
        return "-"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.3g}"


def percent(value: float) -> str:
    """Write a share in percent.

    >>> percent(0.775), percent(float("nan"))
    ('77.5', '-')
    """
    return "-" if math.isnan(value) else f"{100 * value:.1f}"
