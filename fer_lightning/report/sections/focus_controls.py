"""What focus numbers are worth: maps that know nothing, and what hiding regions does."""

from typing import Any

import pandas as pd

from fer_lightning.report.content import Item, Table, Text
from fer_lightning.report.parts import number, percent
from fer_lightning.runs.collection import Collection

MEASURES = {
    "lfr_mean": "LFR mean",
    "lfr_median": "LFR median",
    "lfr_log_mean": "mean log LFR",
    "lfr_share_ge_1": "share ≥ 1",
    "lsi": "LSI",
    "background_share": "background share",
    "mass_ratio": "heat share / area share",
}
WANTED = {"source", "resolution", "masks", "region", *MEASURES}
DROPS = ("acc_drop", "logit_drop")
NEEDED = {"region", "patch", "fill", "acc", "acc_drop", "logit_drop"}


def null_table(collection: Collection) -> list[Item]:
    """Put the primary region's numbers of every model and method beside those of null maps."""
    table, regions = collection.all_focus, collection.regions
    if not len(table) or not set(table.columns) >= WANTED:
        return [Text("The null maps were not measured in these runs.", "note")]
    key = table[(table["region"] == regions.primary) & (table["masks"] == "given")]
    by = ["model", "fraction", "method", "resolution", "source"]
    means = _means(key, by, list(MEASURES))
    rows = tuple(
        (
            row["model"],
            percent(row["fraction"]),
            row["method"],
            row["resolution"],
            _source(row["source"]),
            *(number(row[name], 3) for name in MEASURES),
        )
        for row in means
    )
    return [
        Table(
            "null_maps",
            f"{regions.title(regions.primary)}: each model's maps beside maps that know nothing.",
            ("model", "training data", "method", "resolution", "maps", *MEASURES.values()),
            rows,
            (
                "Means over seeds, and over three untrained twins. A model whose numbers do not "
                "exceed those of the centre Gaussian or of its untrained twins has shown nothing. "
                "Zero maps are left out.",
            ),
        )
    ]


def hiding_table(collection: Collection) -> list[Item]:
    """Tell what hiding a region does, against random and central patches of the same area."""
    table = collection.hiding
    if not len(table) or not set(table.columns) >= NEEDED:
        return [
            Text("What hiding regions does to the answers was not measured in these runs.", "note")
        ]
    by = ["model", "fraction", "region", "fill"]
    rows = []
    extra = [name for name in ("logit_excess", "spearman") if name in table]
    for values, part in table.groupby(by, sort=False):
        drops = {patch: part[part["patch"] == patch] for patch in ("region", "random", "centre")}
        model, fraction, region, fill = values
        rows.append(
            (
                str(model),
                percent(float(str(fraction))),
                str(region),
                str(fill),
                number(_mean(part["acc"])),
                *(number(_mean(some["acc_drop"])) for some in drops.values()),
                *(number(_mean(some["logit_drop"]), 3) for some in drops.values()),
                *(number(_mean(drops["region"][name]), 3) for name in extra),
            )
        )
    heads = ("region hidden", "random patches", "central patch")
    return [
        Table(
            "hiding",
            "The arbiter: what is lost when a region is hidden, and when as many pixels elsewhere "
            "are.",
            (
                "model",
                "training data",
                "region",
                "filled with",
                "accuracy",
                *(f"accuracy lost: {head}" for head in heads),
                *(f"logit lost: {head}" for head in heads),
                *(
                    {
                        "logit_excess": "logit lost beyond random",
                        "spearman": "rank correlation with LFR",
                    }[n]
                    for n in extra
                ),
            ),
            tuple(rows),
            (
                "It needs no map. A model that reads the region loses more from hiding it "
                "than from random patches of the same area; the correlation tells whether "
                "its maps know for which images.",
            ),
        )
    ]


def _means(table: pd.DataFrame, by: list[str], columns: list[str]) -> list[dict[str, Any]]:
    numbers = table[by].join(table[columns].apply(pd.to_numeric, errors="coerce"))
    means = numbers.groupby(by, sort=False).mean().reset_index()
    return [{str(k): v for k, v in row.items()} for row in means.to_dict("records")]


def _mean(column: "pd.Series[float]") -> float:
    return float(pd.to_numeric(column, errors="coerce").mean())


def _source(name: object) -> str:
    return "the model's" if name == "model" else str(name).replace("_", " ")
