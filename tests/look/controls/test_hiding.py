import pytest
import torch

from fer_lightning.data.regions import FACE
from fer_lightning.look.controls.hiding import correlate, hidden_regions, hide_regions


@pytest.fixture
def images():
    """Three flat pictures with a bright mouth: class 1, whose logit is the sum of rows 4 to 7."""
    images = torch.full((3, 1, 8, 8), 0.25)
    images[:, 0, 5:7, 2:6] = 1.0
    return images


def rows_of(found, region, patch, fill="mean"):
    named = {"region": region, "patch": patch, "fill": fill}
    return [row for row in found.rows if named.items() <= row.items()]


def test_what_is_hidden(masks):
    hidden = hidden_regions(masks, FACE)
    assert hidden["key"].sum((1, 2)).tolist() == [16] * 3
    assert hidden["background"].sum((1, 2)).tolist() == [28] * 3
    assert not (hidden["background"] & masks[:, FACE.order.index("face")]).any()


def test_drops_by_hand(spots, images, masks):
    labels = torch.tensor([1, 1, 0])
    found = hide_regions(spots, images, labels, masks, FACE)
    (row,) = rows_of(found, "key", "region")
    # mean of the picture: (56 * 0.25 + 8 * 1) / 64 = 0.34375
    # upper half: 32 * 0.25 = 8, of which 8 pixels of eyes and brows become 0.34375: + 0.75
    # lower half: 24 * 0.25 + 8 = 14, of which the mouth's 8 become 0.34375: - 5.25
    assert row["n"] == 3
    assert row["area_share"] == 0.25
    assert row["covers"] == 1.0
    assert row["acc"] == pytest.approx(2 / 3)
    assert row["acc_hidden"] == pytest.approx(1 / 3)  # 8.75 against 8.75: the first class wins
    assert row["acc_drop"] == pytest.approx(1 / 3)
    assert row["logit_drop"] == pytest.approx((5.25 + 5.25 - 0.75) / 3)
    # the mean of both logits drops by (5.25 - 0.75) / 2 = 2.25 in each picture
    assert row["centred_drop"] == pytest.approx((3 + 3 - 3) / 3)
    assert row["logit_drop_sd"] == pytest.approx(12**0.5)  # of 5.25, 5.25 and -0.75: 6 / sqrt(3)


def test_hiding_the_background_by_hand(spots, images, masks):
    found = hide_regions(spots, images, torch.tensor([1, 1, 0]), masks, FACE)
    (row,) = rows_of(found, "background", "region")
    # 14 pixels of each half become 0.34375 instead of 0.25
    assert row["logit_drop"] == pytest.approx(-14 * 0.09375)
    assert row["acc_drop"] == 0


def test_patches_of_the_same_area(spots, images, masks):
    found = hide_regions(spots, images, torch.tensor([1, 1, 0]), masks, FACE, seeds=(4, 5))
    assert len(found.rows) == 2 * 2 * 4  # regions, fills, patches
    for region, share in (("key", 16 / 64), ("background", 28 / 64)):
        (centre,) = rows_of(found, region, "centre")
        random = rows_of(found, region, "random")
        assert [row["seed"] for row in random] == ["4", "5"]
        for row in (centre, *random):
            assert row["area_share"] == share
            assert row["covers"] < 1
    # the central 4x4 covers rows 2 and 5 of the key regions, 8 pixels of 16
    (centre,) = rows_of(found, "key", "centre")
    assert centre["covers"] == 0.5
    # class 1 loses 4 mouth pixels and gains 4 of the rest; class 0 gains 8
    of_1 = 4 * 0.65625 - 4 * 0.09375
    assert centre["logit_drop"] == pytest.approx((2 * of_1 - 8 * 0.09375) / 3)


def test_excess_is_the_drop_beyond_random_patches(spots, images, masks):
    found = hide_regions(spots, images, torch.tensor([1, 1, 0]), masks, FACE)
    (row,) = rows_of(found, "key", "region", "blur")
    random = [r["logit_drop"] for r in rows_of(found, "key", "random", "blur")]
    assert len(random) == 3
    assert row["logit_excess"] == pytest.approx(row["logit_drop"] - sum(random) / 3)
    random = [r["centred_drop"] for r in rows_of(found, "key", "random", "blur")]
    expected = row["centred_drop"] - sum(random) / 3
    assert row["centred_excess"] == pytest.approx(expected)
    assert found.excess["key_blur"].mean().item() == pytest.approx(expected)
    assert set(found.excess) == {"key_mean", "key_blur", "background_mean", "background_blur"}


def test_correlation_with_focus(spots, images, masks):
    focus = {"key": torch.tensor([3.0, 2.0, torch.nan])}
    found = hide_regions(spots, images, torch.tensor([1, 1, 0]), masks, FACE, focus)
    (row,) = rows_of(found, "key", "region")
    a, b = found.excess["key_mean"][:2].tolist()
    assert row["pairs"] == 2
    assert row["spearman"] == pytest.approx(1.0 if a > b else -1.0)
    assert "spearman" not in rows_of(found, "background", "region")[0]


def test_without_any_map_there_is_no_correlation():
    assert correlate(torch.tensor([torch.nan]), torch.tensor([1.0]))["pairs"] == 0


def test_the_model_is_left_as_it_was(spots, images, masks):
    spots.train()
    hide_regions(spots, images, torch.tensor([1, 1, 0]), masks, FACE)
    assert spots.training
    assert spots.head.weight.requires_grad
    assert spots.head.weight.grad is None


def test_a_common_shift_of_all_logits_changes_nothing(spots, images, masks, monkeypatch):
    labels, plain = torch.tensor([1, 1, 0]), spots.forward
    found = hide_regions(spots, images, labels, masks, FACE)
    # a number that depends on the picture, the same for each class
    monkeypatch.setattr(spots, "forward", lambda x: plain(x) + 100 * x.std((1, 2, 3))[:, None])
    shifted = hide_regions(spots, images, labels, masks, FACE)
    for name, excess in found.excess.items():
        torch.testing.assert_close(shifted.excess[name], excess, atol=1e-4, rtol=0)
    (row,), (other,) = (rows_of(one, "key", "region") for one in (found, shifted))
    assert other["centred_excess"] == pytest.approx(row["centred_excess"], abs=1e-4)
    assert abs(other["logit_excess"] - row["logit_excess"]) > 1  # the raw one moves
