"""Background share, mass ratio, pointing game and mask AUC."""

import numpy as np
import pytest
import torch
from scipy import ndimage
from sklearn.metrics import roc_auc_score

from fer_lightning.errors import UserError
from fer_lightning.look.metrics import (
    BackgroundShare,
    MaskAUC,
    MassRatio,
    PointingGame,
    background_share,
    local_focus_ratio,
    mask_auc,
    mass_ratio,
    pointing_game,
)
from fer_lightning.look.metrics.mask_auc import CHUNK


def test_background_share_of_known_maps(regions) -> None:
    oval = regions.any(0)
    maps = torch.stack([oval.float(), (~oval).float(), torch.ones(48, 48)])
    outside = 1 - oval.float().mean().item()
    assert background_share(maps, oval).tolist() == pytest.approx([0, 1, outside])


def test_mass_ratio_and_lfr_say_the_same_of_one_map(heat, regions) -> None:
    # With a the area share and m the mass share: LFR = m (1 - a) / (a (1 - m)).
    a = regions.double().mean((1, 2))
    m = mass_ratio(heat.double(), regions) * a
    expected = m * (1 - a) / (a * (1 - m))
    lfr = local_focus_ratio(heat.double(), regions)
    assert torch.allclose(lfr, expected, rtol=1e-5, equal_nan=True)


def test_mass_ratio_is_bounded_where_lfr_is_not(regions) -> None:
    key = regions.any(0)
    only_inside = key[None].float()
    assert mass_ratio(only_inside, key).item() == pytest.approx(1 / key.float().mean().item())
    assert mass_ratio(torch.ones(1, 48, 48), key).item() == pytest.approx(1, abs=1e-12)


def test_pointing_game_takes_the_maximum(heat, regions) -> None:
    kept = heat.amax((1, 2)) > 0
    places = heat.flatten(1).argmax(1)
    expected = regions.flatten(1)[:, places].T.double()
    unique = (heat == heat.amax((1, 2), keepdim=True)).sum((1, 2)) == 1
    assert unique[kept].float().mean() > 0.5  # the comparison below is about something
    found = pointing_game(heat, regions)
    assert torch.equal(found[kept & unique], expected[kept & unique])


def test_pointing_game_shares_ties_and_does_not_depend_on_their_order(regions) -> None:
    key = regions.any(0)
    uniform = torch.ones(1, 48, 48)
    assert pointing_game(uniform, key).item() == pytest.approx(key.float().mean().item())
    tied = torch.zeros(1, 48, 48)
    tied[0, 0, 0] = tied[0, 35, 20] = tied[0, 36, 20] = 1
    for map_, mask in ((tied, key), (tied.flip(1, 2), key.flip(0, 1))):
        assert pointing_game(map_, mask).item() == pytest.approx(2 / 3)


@pytest.mark.parametrize("tolerance", [1, 2, 5])
def test_pointing_tolerance_is_a_euclidean_distance(tolerance, regions) -> None:
    mouth = regions[2]
    distance = ndimage.distance_transform_edt(~mouth.numpy())
    points = torch.eye(48 * 48).view(-1, 48, 48)[::7]
    hits = pointing_game(points, mouth, tolerance).numpy()
    np.testing.assert_array_equal(hits, (distance.flatten() <= tolerance)[::7])


def test_pointing_tolerance_with_masks_of_each_image(heat, own_regions) -> None:
    found = pointing_game(heat, own_regions, tolerance=3)
    for i in (0, 31):
        assert torch.allclose(found[i], pointing_game(heat[i : i + 1], own_regions[i], 3)[0])


def test_negative_tolerance_is_refused(heat, regions) -> None:
    with pytest.raises(UserError, match="tolerance of 0 or more"):
        pointing_game(heat, regions, tolerance=-1)


@pytest.mark.parametrize("levels", [2, 5, None])
def test_mask_auc_equals_sklearn(heat, own_regions, levels) -> None:
    if levels:
        heat = (heat * levels).round() / levels  # many ties
    kept = (heat.amax((1, 2)) > 0).nonzero().flatten().tolist()
    found = mask_auc(heat, own_regions)
    expected = [
        [roc_auc_score(own_regions[i, r].flatten(), heat[i].flatten()) for r in range(3)]
        for i in kept
    ]
    np.testing.assert_allclose(found[kept].numpy(), expected, rtol=1e-9)


def test_mask_auc_of_known_maps(regions) -> None:
    key = regions.any(0)
    maps = torch.stack([key.float(), (~key).float(), torch.ones(48, 48)])
    assert mask_auc(maps, key).tolist() == [1, 0, 0.5]
    many = maps.repeat(CHUNK // 3 + 1, 1, 1)
    assert torch.equal(mask_auc(many, key), mask_auc(maps, key).repeat(CHUNK // 3 + 1))


@pytest.mark.parametrize(
    ("metric", "function"),
    [
        (BackgroundShare(), background_share),
        (MassRatio(), mass_ratio),
        (PointingGame(tolerance=2), lambda heat, mask: pointing_game(heat, mask, 2)),
        (MaskAUC(), mask_auc),
    ],
)
def test_classes_equal_functions(metric, function, heat, regions) -> None:
    for part in heat.split(16):
        metric.update(part, regions)
    result = metric.compute()
    expected = function(heat, regions)
    assert torch.allclose(result["values"], expected, rtol=1e-5, equal_nan=True)
    assert torch.allclose(result["mean"], expected.nanmean(0), rtol=1e-5)
    assert result["zero_maps"].tolist() == [3, 3, 3]
