"""Heat: ReLU, scaling up, division by the maximum, zero maps, one grid for all."""

import pytest
import torch
from torch.nn import functional as F

from fer_lightning.errors import UserError
from fer_lightning.look.heat import is_zero, match_resolution, to_heat


def test_negative_values_are_cut_before_scaling_up():
    heat = to_heat(torch.tensor([[[1.0, -100.0]]]), (1, 4))
    # of [1, 0]: a bilinear pixel centre lies at -0.25, 0.25, 0.75 and 1.25 cells
    assert torch.equal(heat, torch.tensor([[[1.0, 0.75, 0.25, 0.0]]]))


def test_divided_by_the_maximum_and_not_stretched():
    heat = to_heat(torch.tensor([[[3.0, 4.0]], [[0.3, 0.4]]]), (1, 2))
    assert torch.allclose(heat, torch.tensor([[[0.75, 1.0]], [[0.75, 1.0]]]))


def test_each_map_has_its_own_maximum():
    maps = torch.rand(5, 6, 6, generator=torch.Generator().manual_seed(0)) * torch.logspace(
        -30, 30, 5
    ).view(-1, 1, 1)
    heat = to_heat(maps, 48)
    assert heat.shape == (5, 48, 48)
    assert torch.equal(heat.amax((1, 2)), torch.ones(5))


def test_zero_maps_stay_zero_and_are_told():
    heat = to_heat(torch.stack([torch.zeros(2, 2), -torch.ones(2, 2), torch.eye(2)]), 8)
    assert is_zero(heat).tolist() == [True, True, False]
    assert not heat[:2].any()


def test_corners_of_the_grid_are_corners_of_the_image():
    grid = torch.zeros(1, 3, 3)
    grid[0, 0, 2] = 1  # top right
    heat = to_heat(grid, (6, 9))
    assert divmod(int(heat[0].argmax()), 9) in [(0, 7), (0, 8)]
    assert heat[0, 0, 8] == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("function", [lambda maps: to_heat(maps, 8), match_resolution])
def test_a_map_that_is_not_finite(value, function):
    maps = torch.ones(3, 2, 2)
    maps[1, 0, 1] = value
    with pytest.raises(UserError, match="NaN or infinity in 1 of 3, first in map 1"):
        function(maps)


@pytest.mark.parametrize("shape", [(2, 2), (1, 1, 2, 2), (0, 2, 2)])
def test_maps_of_another_shape(shape):
    with pytest.raises(UserError, match=r"shape \(N, h, w\) but got"):
        to_heat(torch.zeros(shape), 8)


def test_sizes_without_pixels():
    with pytest.raises(UserError, match="at least 1x1 pixels but got 0x0"):
        to_heat(torch.ones(1, 2, 2), 0)
    with pytest.raises(UserError, match="at least 1x1 cells but got 2x0"):
        match_resolution(torch.ones(1, 2, 2), (2, 0))


def test_a_finer_grid_is_averaged():
    maps = torch.rand(2, 24, 24)
    assert torch.allclose(match_resolution(maps), F.avg_pool2d(maps, 4), atol=1e-6)


def test_borders_that_cut_cells():
    # 4 cells to 3: each new cell covers 4/3 old ones
    maps = torch.tensor([[[3.0, 0.0, 0.0, 6.0]]])
    expected = torch.tensor([[[3 * 3 / 4, 0.0, 6 * 3 / 4]]])
    assert torch.allclose(match_resolution(maps, (1, 3)), expected)


def test_a_coarser_grid_is_repeated():
    maps = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    expected = maps.repeat_interleave(3, 1).repeat_interleave(3, 2)
    assert torch.allclose(match_resolution(maps, 6), expected)


@pytest.mark.parametrize("side", [2, 5, 6, 7, 8, 24])
def test_the_mean_stays(side):
    maps = torch.rand(2, side, side)
    assert torch.allclose(match_resolution(maps).mean((1, 2)), maps.mean((1, 2)), atol=1e-6)


def test_heat_can_be_trained_through():
    """A loss on the map needs its gradient."""
    signed = torch.tensor([[[1.0, 2.0]]], requires_grad=True)
    to_heat(signed, (1, 2))[0, 0, 0].backward()
    # heat = a / b: d/da = 1/2, d/db = -a/b^2 = -1/4
    assert torch.allclose(signed.grad, torch.tensor([[[0.5, -0.25]]]))
