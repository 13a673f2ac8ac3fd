import pytest
import torch

from fer_lightning.errors import UserError
from fer_lightning.look.metrics import (
    background_share,
    local_focus_ratio,
    mask_auc,
    mass_ratio,
    pointing_game,
    region_overlap,
)

FUNCTIONS = [
    background_share,
    local_focus_ratio,
    mask_auc,
    mass_ratio,
    pointing_game,
    region_overlap,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_form_of_mask(function, heat, regions, own_regions) -> None:
    shared = function(heat, regions)
    assert shared.shape == (60, 3)
    assert shared.dtype == torch.float64
    for r in range(3):
        assert torch.allclose(function(heat, regions[r]), shared[:, r], equal_nan=True)

    own = function(heat, own_regions)
    one_each = function(heat, own_regions[:, 1], per_image=True)
    assert own.shape == (60, 3)
    assert torch.equal(one_each.nan_to_num(-1), own[:, 1].nan_to_num(-1))
    for i in range(5):
        alone = function(heat[i : i + 1], own_regions[i])
        assert torch.allclose(alone[0], own[i], rtol=1e-5, equal_nan=True)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_many_regions_as_images_is_not_taken_for_a_mask_each(function, heat, regions) -> None:
    # The trap of a last batch whose size happens to be the number of regions.
    whole = function(heat, regions)
    last = function(heat[-3:], regions)
    assert torch.allclose(last, whole[-3:], rtol=1e-5, equal_nan=True)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_zero_maps_have_no_value_and_others_have_one(function, heat, regions) -> None:
    missing = function(heat, regions).isnan()
    assert missing.any(1).nonzero().flatten().tolist() == [4, 17, 59]
    assert missing[[4, 17, 59]].all()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_numeric_masks_and_other_types_of_heat(function, heat, regions) -> None:
    expected = function(heat.double(), regions)
    assert torch.allclose(function(heat, regions.float()), expected, rtol=1e-5, equal_nan=True)
    assert torch.allclose(function(heat, regions.long()), expected, rtol=1e-5, equal_nan=True)
    half = heat.half()
    found = function(half.requires_grad_(), regions)
    assert not found.requires_grad
    assert torch.equal(found.nan_to_num(-1), function(half.float(), regions).nan_to_num(-1))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -0.001])
def test_heat_that_is_no_heat_is_refused(function, value, heat, regions) -> None:
    heat[3, 5, 6] = value
    with pytest.raises(UserError, match="finite heat that is not negative"):
        function(heat, regions)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_wrong_masks_are_refused(function, heat, regions, own_regions) -> None:
    for wrong in (regions[:, :47], regions[0, 0], own_regions[:7], regions[None, None]):
        with pytest.raises(UserError, match="size 48x48"):
            function(heat, wrong)
    with pytest.raises(UserError, match="size 48x48"):
        function(heat, regions, per_image=True)
    with pytest.raises(UserError, match="mask of 0 and 1"):
        function(heat, regions * 0.5)
    with pytest.raises(UserError, match="mask of 0 and 1"):
        function(heat, torch.full((48, 48), torch.nan))
    with pytest.raises(UserError, match="empty"):
        function(heat, regions[:0])
    own_regions[9, 1] = False
    with pytest.raises(UserError, match=r"empty one \(mask 9, region 1\)"):
        function(heat, own_regions)
    with pytest.raises(UserError, match="full one"):
        function(heat, torch.ones(48, 48))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shape", [(48, 48), (2, 1, 48, 48), (0, 48, 48)])
def test_heat_of_another_shape_is_refused(function, shape, regions) -> None:
    with pytest.raises(UserError, match=r"shape \(B, H, W\)"):
        function(torch.ones(shape), regions)
