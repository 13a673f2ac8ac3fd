import io
import math

import pytest
import torch
from rich.console import Console

from fer_lightning.data.regions import FACE, Regions
from fer_lightning.look.controls.null_maps import null_maps
from fer_lightning.look.focus import Source, tabulate
from fer_lightning.look.tables import (
    focus_view,
    hiding_view,
    hiding_words,
    legend,
    masks_view,
    number,
    percent,
    randomisation_view,
    sees_nothing,
    verdict,
)


def shown(*tables):
    console = Console(width=80, file=io.StringIO())
    for table in tables:
        console.print(table)
    return console.file.getvalue()


@pytest.fixture
def rows(masks):
    """A model that looks at the mouth alone in one image of three, and at nothing in another."""
    masks[1] = masks[1].roll(1, dims=1)
    heat = torch.rand(3, 8, 8, generator=torch.Generator().manual_seed(0))
    heat[0] = 0
    heat[0, 5:7, 2:6] = 1
    heat[2] = 0
    sources = [Source("model", "", heat, "8x8")]
    sources += [Source(name, "", maps) for name, maps in null_maps(heat, (8, 8), 0).items()]
    return tabulate([*sources, Source("untrained", "1", heat, "8x8")], masks, FACE)


def test_focus_in_the_layout_of_the_paper_with_null_rows_beneath(rows):
    text = shown(focus_view(rows, "native", FACE))
    names = ["EYES", "MOUTH", "EYEBROW", "NOSE", "KEY", "ALL", "KEY of"]
    names += ["uniform", "gaussian 0.33", "gaussian 0.17", "random grid", "mean map", "untrained 1"]
    lines = text.splitlines()
    places = [next(i for i, line in enumerate(lines) if line.strip().startswith(n)) for n in names]
    assert places == sorted(places)
    assert "8x8 cells, N=3" in text
    mouth = next(line for line in lines if "MOUTH" in line).split()
    (row,) = [
        r
        for r in rows
        if (r["source"], r["resolution"], r["masks"], r["region"])
        == ("model", "native", "given", "mouth")
    ]
    assert row["lfr_mean"] > 1e7
    assert mouth[1:4] == [number(row["lfr_mean"]), "±", number(row["lfr_sd"])]
    assert mouth[-1] == "1"  # zero maps
    shares = (row["lfr_share_ge_1"], row["lfr_share_ge_1_zeros_in"])
    assert mouth[6] == "/".join(map(percent, shares))


def test_everything_fits_a_terminal_of_80_columns(rows):
    text = shown(
        focus_view(rows, "native", FACE), focus_view(rows, "matched", FACE), masks_view(rows, FACE)
    )
    assert "…" not in text
    assert "shuffled" in text
    kinds = text.count("gaussian 0.25")
    assert kinds == 2
    assert all(len(line) <= 80 for line in text.splitlines())
    assert max(line.count("±") for line in text.splitlines()) == 1


def test_verdict_names_the_null_maps_that_reach_the_model():
    same = {"resolution": "matched", "masks": "given", "region": "key", "grid": "6x6"}

    def row(source, median, seed=""):
        return same | {"source": source, "seed": seed, "lfr_median": median}

    model = row("model", 1.5)
    assert verdict([model, row("uniform", 1.0)], FACE).endswith("which no null map reaches.")
    both = verdict(
        [model, row("mean_map", 1.5), row("uniform", 1.0), row("untrained", 2.0, "1")], FACE
    )
    assert both.endswith("which mean map (1.500), untrained 1 (2.000) reach without looking.")
    assert verdict([row("model", math.nan), row("uniform", 1.0)], FACE).endswith(
        "every map is zero."
    )


def test_view_of_occlusion_averages_random_patches():
    row = {"region": "key", "fill": "mean", "area_share": 0.25, "covers": 0.2, "acc_hidden": 0.5}
    row |= {"acc_drop": 0.1, "logit_drop": 1.0}
    rows = [row | {"patch": "region", "spearman": 0.3, "pairs": 9}]
    rows += [row | {"patch": "random", "logit_drop": v} for v in (2.0, 5.0)]
    text = shown(hiding_view(rows, FACE))
    assert hiding_words(rows, FACE).endswith("random patches: KEY, mean 0.300 (9).")
    assert "3.500" in text


def test_view_of_randomisation_shows_heat():
    row = {"layer": "head", "parameters": 0.01, "spearman": 0.5, "pearson": 0.25, "undefined": 3}
    text = shown(randomisation_view([row | {"map": "heat"}, row | {"map": "signed"}]))
    assert text.count("head") == 1
    assert "0.250" in text


def test_the_background_is_named_after_what_lies_inside():
    plates = Regions("picture", ("dent",), primary="dent", outside="plate")
    assert "outside the plate." in legend(plates)
    assert "outside the picture." in legend(Regions("picture", ("dent",), primary="dent"))


def test_maps_without_any_heat_are_known(rows):
    assert not sees_nothing(rows)
    own = [row | {"zero_maps": row["n"]} if row["source"] == "model" else row for row in rows]
    assert sees_nothing(own)
