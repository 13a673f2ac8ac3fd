"""What focus numbers are worth: maps that know nothing, and what hiding regions does."""

import pandas as pd

from fer_lightning.report.content import Cell, Item, Table, Text
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
BY_METHOD = {
    "zero_maps": "zero maps",
    "lfr_median": "LFR median",
    "lfr_share_ge_1": "share ≥ 1",
    "mass_ratio": "heat share / area share",
    "mask_auc": "mask AUC",
    "background_share": "background share",
}
WANTED = {"source", "resolution", "masks", "region", *MEASURES}
NEEDED = {"region", "patch", "fill", "acc", "acc_drop", "logit_drop"}
PATCHES = {"region": "region hidden", "random": "random patches", "centre": "central patch"}
EXTRA = {"logit_excess": "logit lost beyond random", "spearman": "rank correlation with LFR"}


def null_table(collection: Collection) -> list[Item]:
    """Put the primary region's numbers of every model and method beside those of null maps."""
    table, regions = collection.all_focus, collection.regions
    if not len(table) or not set(table.columns) >= WANTED:
        return [Text("The null maps were not measured in these runs.", "note")]
    key = table[(table["region"] == regions.primary) & (table["masks"] == "given")]
    rows = _means(key, ("resolution", "source"), list(MEASURES))
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


def methods_table(collection: Collection) -> list[Item]:
    """Put each model's maps by every method side by side; nothing where there is only one."""
    table, regions = collection.all_focus, collection.regions
    if not len(table) or not set(table.columns) >= {*WANTED, *BY_METHOD, "method"}:
        return []
    if table["method"].nunique() < 2:
        return []
    own = table[(table["source"] == "model") & (table["masks"] == "given")]
    own = own[own["region"] == regions.primary]
    rows = _means(own, ("resolution",), list(BY_METHOD))
    return [
        Table(
            "focus_by_method",
            f"{regions.title(regions.primary)} by every method that was measured.",
            ("model", "training data", "method", "resolution", *BY_METHOD.values()),
            rows,
            (
                "Means over seeds; zero maps are left out and counted. grad_cam is the paper's. "
                "What only one method says of a model is a finding about the method.",
            ),
        )
    ]


def masks_table(collection: Collection) -> list[Item]:
    """Measure the same maps with other masks; nothing where only the given ones were used."""
    table, regions = collection.all_focus, collection.regions
    if not len(table) or not set(table.columns) >= {*WANTED, *BY_METHOD, "method"}:
        return []
    own = table[(table["source"] == "model") & (table["region"] == regions.primary)]
    own = own[own["resolution"] == "matched"]
    if own["masks"].nunique() < 2:
        return []
    rows = _means(own, ("masks",), ["n", *BY_METHOD])
    return [
        Table(
            "masks",
            f"{regions.title(regions.primary)}: the same maps, on one grid, under other masks.",
            ("model", "training data", "method", "masks", "images", *BY_METHOD.values()),
            rows,
            (
                "given: as the data have them, for faces from landmarks where these were accepted "
                "and else the template; accepted: those images alone; template: one mask for all; "
                "area_matched: each face's own regions grown or shrunk to the template's areas; "
                "dilated, eroded: by two pixels of 48; shuffled: another image's masks.",
            ),
        )
    ]


def _means(
    table: pd.DataFrame, also_by: tuple[str, ...], columns: list[str]
) -> tuple[tuple[Cell, ...], ...]:
    """Average numbers of a focus table over seeds: rows by model, fraction, method and more."""
    by = ["model", "fraction", "method", *also_by]
    numbers = table[by].join(table[columns].apply(pd.to_numeric, errors="coerce"))
    return tuple(
        (model, percent(fraction), method, *map(_source, others), *(number(v, 3) for v in row))
        for (model, fraction, method, *others), *row in (
            numbers.groupby(by, sort=False).mean().itertuples(name=None)
        )
    )


def hiding_table(collection: Collection) -> list[Item]:
    """Tell what hiding a region does, against random and central patches of the same area."""
    table = collection.hiding
    if not len(table) or not set(table.columns) >= NEEDED:
        return [
            Text("What hiding regions does to the answers was not measured in these runs.", "note")
        ]
    rows = []
    extra = [name for name in EXTRA if name in table]
    for cell, part in table.groupby(["model", "fraction", "region", "fill"], sort=False):
        model, fraction, region, fill = map(str, cell)
        drops = [part[part["patch"] == patch] for patch in PATCHES]
        rows.append(
            (
                *(model, percent(float(fraction)), region, fill, number(_mean(part["acc"]))),
                *(number(_mean(some["acc_drop"])) for some in drops),
                *(number(_mean(some["logit_drop"]), 3) for some in drops),
                *(number(_mean(drops[0][name]), 3) for name in extra),
            )
        )
    return [
        Table(
            "hiding",
            "The arbiter: what is lost when a region is hidden, and when as many pixels elsewhere "
            "are.",
            (
                *("model", "training data", "region", "filled with", "accuracy"),
                *(
                    f"{what} lost: {head}"
                    for what in ("accuracy", "logit")
                    for head in PATCHES.values()
                ),
                *(EXTRA[name] for name in extra),
            ),
            tuple(rows),
            (
                "It needs no map. A model that reads the region loses more from hiding it "
                "than from random patches of the same area; the correlation tells whether "
                "its maps know for which images.",
            ),
        )
    ]


def _mean(column: "pd.Series[float]") -> float:
    return float(pd.to_numeric(column, errors="coerce").mean())


def _source(name: object) -> str:
    return "the model's" if name == "model" else str(name).replace("_", " ")
