import csv
import math

import pytest
import torch

from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.masks import masks_for, template
from fer_lightning.data.regions import FACE
from fer_lightning.errors import UserError
from fer_lightning.look.focus import (
    Sample,
    Source,
    focus_table,
    map_sources,
    tabulate,
    with_regions_from,
)
from fer_lightning.look.heat import to_heat
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.look.metrics import local_focus_ratio
from fer_lightning.look.tables import to_csv
from fer_lightning.models import CNN

LABELS = torch.tensor([0, 1, 0])


@pytest.fixture
def images():
    return torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def own_masks(masks):
    """Masks that differ between images: those of the second are moved down by a pixel."""
    masks[1] = masks[1].roll(1, dims=1)
    return masks


def select(rows, **wanted):
    return [row for row in rows if wanted.items() <= row.items()]


def test_every_kind_of_map_under_every_condition(spots, images, own_masks):
    rows = focus_table(spots, Sample(images, LABELS, own_masks, FACE), twin_seeds=(5, 6))
    kinds = list(dict.fromkeys((row["source"], row["seed"]) for row in rows))
    assert kinds == [
        ("model", ""),
        ("uniform", ""),
        ("gaussian_0.33", ""),
        ("gaussian_0.25", ""),
        ("gaussian_0.17", ""),
        ("random_grid", "0"),
        ("mean_map", ""),
        ("untrained", "5"),
        ("untrained", "6"),
    ]
    assert len(rows) == len(kinds) * 2 * 4 * 6
    assert len({tuple(list(row.values())[:6]) for row in rows}) == len(rows)
    assert all(list(row) == list(rows[0]) for row in rows)


def test_the_models_row_is_what_the_metrics_give(spots, images, own_masks):
    rows = focus_table(spots, Sample(images, LABELS, own_masks, FACE), twin_seeds=())
    (row,) = select(rows, source="model", resolution="native", masks="given", region="mouth")
    # Grad-CAM of this model is the picture itself times a positive number
    heat = to_heat(images[:, 0], 8)
    expected = local_focus_ratio(heat, own_masks[:, FACE.order.index("mouth")], per_image=True)
    assert row["grid"] == "8x8"
    assert row["lfr_mean"] == pytest.approx(expected.mean().item(), rel=1e-5)
    assert row["lfr_sd"] == pytest.approx(expected.std().item(), rel=1e-5)


def test_uniform_rows_are_neutral_everywhere(spots, images, own_masks):
    rows = focus_table(spots, Sample(images, LABELS, own_masks, FACE), twin_seeds=())
    for row in select(rows, source="uniform"):
        if row["n"]:
            assert row["lfr_mean"] == pytest.approx(1.0)
            assert row["mass_ratio"] == pytest.approx(1.0)
            assert row["mask_auc"] == pytest.approx(0.5)


def test_eroded_regions_that_are_gone_are_not_counted(spots, images, own_masks):
    rows = focus_table(spots, Sample(images, LABELS, own_masks, FACE), twin_seeds=())
    eroded = select(rows, source="model", resolution="native", masks="eroded")
    counts = {row["region"]: row["n"] for row in eroded}
    # one row high; two rows high, but at the edge of the picture in the second image
    # KEY keeps the mouth there, but eyes and brows, which touch, are gone everywhere
    assert (counts["eyes"], counts["mouth"], counts["key"]) == (0, 1, 1)
    assert math.isnan(eroded[0]["lfr_mean"])
    dilated = select(rows, source="model", resolution="native", masks="dilated")
    assert [row["n"] for row in dilated] == [3] * 6


def test_matched_resolution_uses_the_stated_grid(own_masks):
    heat = torch.zeros(3, 8, 8)
    heat[:, 5, 3] = 1.0
    rows = tabulate([Source("model", "", heat, "8x8")], own_masks, FACE, grid=2)
    matched = select(rows, resolution="matched", masks="given", region="mouth")[0]
    native = select(rows, resolution="native", masks="given", region="mouth")[0]
    assert matched["grid"] == "2x2"
    assert native["lfr_median"] == pytest.approx(1e8 / 8, rel=1e-6)
    assert matched["lfr_median"] < 5


def test_target_true_explains_the_label(spots, images, masks):
    sample = Sample(images, LABELS, masks, FACE)
    found = map_sources(spots, sample, target="true", twin_seeds=())
    expected = to_heat(grad_cam(spots, images, LABELS).signed, 8)
    torch.testing.assert_close(found[0].heat, expected)


def test_same_seed_same_table(images, own_masks):
    torch.manual_seed(0)
    model = CNN(image_size=8, widths=(4, 4, 4, 4), feature_width=8)
    first, again = (
        to_csv(focus_table(model, Sample(images, LABELS, own_masks, FACE), seed=3))
        for _ in range(2)
    )
    assert first == again
    assert first != to_csv(focus_table(model, Sample(images, LABELS, own_masks, FACE), seed=4))


def test_zero_maps_are_counted(own_masks):
    heat = torch.zeros(3, 8, 8)
    heat[0] = 1.0
    (row,) = select(
        tabulate([Source("model", "", heat)], own_masks, FACE),
        resolution="matched",
        masks="given",
        region="key",
    )
    assert (row["n"], row["zero_maps"]) == (3, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m[:2], r"shape \(3, 7, 8, 8\)"),
        (lambda m: m[..., :7], r"shape \(3, 7, 8, 8\)"),
        (lambda m: m.float(), "boolean masks"),
        (lambda m: m & (torch.arange(7).view(1, 7, 1, 1) != 4), "an empty key mask for image 0"),
        (lambda m: m | (torch.arange(7).view(1, 7, 1, 1) == 4), "a full key mask for image 0"),
    ],
)
def test_masks_that_do_not_fit(spots, images, masks, change, message):
    with pytest.raises(UserError, match=message):
        focus_table(spots, Sample(images, LABELS, change(masks), FACE))


def test_labels_that_do_not_fit(spots, images, masks):
    with pytest.raises(UserError, match="one label for each of 3 images"):
        focus_table(spots, Sample(images, LABELS[:2], masks, FACE))


def test_a_model_with_nan_weights(spots, images, masks):
    with torch.no_grad():
        spots.head.weight[0, 0] = torch.nan
    with pytest.raises(UserError, match="NaN"):
        focus_table(spots, Sample(images, LABELS, masks, FACE))


def test_csv_reads_back(spots, images, own_masks):
    rows = focus_table(spots, Sample(images, LABELS, own_masks, FACE), twin_seeds=())
    back = list(csv.DictReader(to_csv(rows).splitlines()))
    assert len(back) == len(rows)
    assert float(back[7]["lfr_median"]) == pytest.approx(rows[7]["lfr_median"], rel=1e-5)


def test_landmarks_are_shown_beside_the_template():
    masks = torch.from_numpy(masks_for(drawn_faces(7), [0, 1, 2]))
    heat = torch.rand(3, 48, 48, generator=torch.Generator().manual_seed(0))
    words = ("landmarks", "template", "landmarks")
    rows = tabulate([Source("model", "", heat, "8x8")], masks, FACE, regions_from=words)
    kinds = list(dict.fromkeys(row["masks"] for row in rows))
    assert kinds[:4] == ["given", "accepted", "template", "area_matched"]
    assert kinds[4:] == ["dilated", "eroded", "shuffled"]
    for kind, images in (("given", [0, 1, 2]), ("accepted", [0, 2])):
        (row,) = select(rows, resolution="native", masks=kind, region="key")
        lfr = local_focus_ratio(
            heat[images], masks[images, FACE.order.index("key")], per_image=True
        )
        assert (row["n"], row["lfr_mean"]) == (len(images), pytest.approx(lfr.mean().item()))
    (row,) = select(rows, resolution="native", masks="template", region="eyes")
    fixed = torch.tensor(template(48)["eyes"])
    assert row["lfr_mean"] == pytest.approx(local_focus_ratio(heat, fixed, per_image=True).mean())
    told = with_regions_from(rows, words)
    assert {(r["masks"], r["regions_from"]) for r in told} >= {
        ("given", "landmarks"),
        ("template", "template"),
    }
    assert {row["masks"] for row in tabulate([Source("model", "", heat)], masks, FACE)}.isdisjoint(
        {"accepted", "template", "area_matched"}
    )
