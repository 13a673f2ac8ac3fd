import math

import pytest
import torch

from fer_lightning.data.regions import FACE
from fer_lightning.errors import UserError
from fer_lightning.look.measure import measure, measure_variants, summarise_regions, usable


@pytest.fixture
def heat():
    """Hot mouth; uniform; nothing."""
    heat = torch.zeros(3, 8, 8)
    heat[0, 5:7, 2:6] = 1.0
    heat[1] = 0.5
    return heat


def of(values, region):
    return values[:, FACE.rows.index(region)].tolist()


def test_values_by_hand(heat, masks):
    found = measure(heat, masks, FACE)
    nan = torch.nan
    assert of(found["lfr"], "mouth") == pytest.approx([1e8, 1.0, nan], nan_ok=True)
    # key: 8 of 16 pixels hot, none outside
    assert of(found["lfr"], "key") == pytest.approx([0.5e8, 1.0, nan], nan_ok=True)
    assert of(found["mass"], "key") == pytest.approx([4.0, 1.0, nan], nan_ok=True)
    assert of(found["background"], "eyes") == pytest.approx([0.0, 28 / 64, nan], nan_ok=True)
    assert of(found["pointing"], "mouth") == pytest.approx([1.0, 8 / 64, nan], nan_ok=True)
    assert of(found["pointing"], "eyes") == pytest.approx([0.0, 4 / 64, nan], nan_ok=True)
    # eyes against 60 pixels outside, of which 8 are hotter and 52 tie: 26 of 60
    assert of(found["auc"], "eyes") == pytest.approx([26 / 60, 0.5, nan], nan_ok=True)


def test_overlap_of_a_region_and_its_means(heat, masks):
    found = measure(heat, masks, FACE)["lsi"]
    assert of(found, "mouth")[:2] == pytest.approx([1.0, 8 / 64])
    assert of(found, "eyes")[:2] == pytest.approx([0.0, 4 / 64])
    assert of(found, "key")[:2] == pytest.approx([1 / 3, (8 + 4 + 4) / 64 / 3])
    assert of(found, "all")[:2] == pytest.approx([1 / 4, (8 + 4 + 4 + 4) / 64 / 4])


def test_summary_under_both_conventions(heat, masks):
    row = summarise_regions(measure(heat, masks, FACE), FACE)[FACE.rows.index("key")]
    assert row["region"] == "key"
    assert (row["n"], row["zero_maps"]) == (3, 1)
    assert row["lfr_mean"] == pytest.approx(0.25e8)
    assert row["lfr_median"] == pytest.approx(0.25e8)
    assert row["lfr_log_mean"] == pytest.approx(math.log(0.5e8) / 2)
    # a uniform map misses 1 by the constant 1e-8 in the denominator, so it does not reach it
    assert row["lfr_share_ge_1"] == 0.5
    assert row["lfr_share_ge_1_zeros_in"] == pytest.approx(1 / 3)
    assert row["lsi"] == pytest.approx((1 / 3 + 1 / 12) / 2)
    assert row["lsi_zeros_in"] == pytest.approx((1 / 3 + 1 / 12) / 3)
    assert row["mass_ratio"] == pytest.approx(2.5)
    assert row["background_share"] == pytest.approx(28 / 64 / 2)


def test_which_masks_can_be_used(masks):
    masks[0, FACE.order.index("eyebrow")] = False
    masks[1, FACE.order.index("key")] = True
    found = usable(masks, FACE)
    assert dict(zip(FACE.rows, found[0].tolist(), strict=True)) == {
        "eyes": True,
        "mouth": True,
        "eyebrow": False,
        "nose": True,
        "key": True,
        "all": True,
    }
    assert found[1].tolist() == [True, True, True, True, False, True]
    assert found[2].tolist() == [True] * 6


def test_images_whose_region_is_gone_are_left_out(heat, masks):
    masks[0, FACE.order.index("eyebrow")] = False
    assert of(measure(heat, masks, FACE)["lfr"], "eyebrow")[1:] == pytest.approx(
        [1.0, torch.nan], nan_ok=True
    )
    assert math.isnan(of(measure(heat, masks, FACE)["lfr"], "eyebrow")[0])
    rows = summarise_regions(measure(heat, masks, FACE), FACE)
    by_region = {row["region"]: row for row in rows}
    assert by_region["mouth"]["n"] == 3
    assert by_region["eyebrow"]["n"] == 2
    key = by_region["key"]
    assert key["n"] == 3  # what is left of it counts, but its LSI needs every part
    assert key["lfr_share_ge_1_zeros_in"] == pytest.approx(1 / 3)
    assert key["lsi"] == pytest.approx(1 / 12)  # of the uniform map
    assert key["lsi_zeros_in"] == pytest.approx(1 / 24)  # and the zero map


def test_a_region_gone_everywhere_gives_a_row_without_numbers(heat, masks):
    masks[:, FACE.order.index("eyebrow")] = False
    rows = summarise_regions(measure(heat, masks, FACE), FACE)
    row = rows[FACE.rows.index("eyebrow")]
    assert (row["n"], row["zero_maps"]) == (0, 0)
    assert all(math.isnan(v) for k, v in row.items() if k not in ("region", "n", "zero_maps"))
    assert list(row) == list(rows[0])


def test_nan_heat_is_refused(heat, masks):
    heat[1, 0, 0] = torch.nan
    with pytest.raises(UserError, match="finite heat"):
        measure(heat, masks, FACE)


def test_several_masks_at_once_give_what_each_gives(heat, masks):
    moved = masks.roll(1, dims=3)
    both = measure_variants(heat, torch.stack([masks, moved], dim=1), FACE)
    for found, expected in zip(
        both, (measure(heat, masks, FACE), measure(heat, moved, FACE)), strict=True
    ):
        for name, values in expected.items():
            torch.testing.assert_close(found[name], values, equal_nan=True)
    assert not torch.equal(both[0]["mass"], both[1]["mass"])
