import pytest
import torch

from fer_lightning.data.masks import template
from fer_lightning.errors import UserError
from fer_lightning.look.controls.null_maps import random_grid
from fer_lightning.look.heat import match
from fer_lightning.look.metrics import local_focus_ratio

KEY = torch.tensor(template(48)["key"])


def test_cells_are_averaged_and_scaled_up():
    heat = torch.zeros(1, 12, 12)
    heat[0, :6, :6] = torch.eye(6)  # a sixth of that quarter
    heat[0, 6:, :6] = 1 / 12
    matched = match(heat, grid=2)[0]
    assert matched[0, 0].item() == pytest.approx(1.0)
    assert matched[-1, 0].item() == pytest.approx(0.5)
    assert matched[0, -1].item() == 0


def test_maps_of_the_grid_stay_nearly_the_same_and_finer_ones_do_not():
    coarse, fine = (random_grid(50, (48, 48), (g, g), seed=0) for g in (3, 24))
    assert (match(coarse) - coarse).abs().mean() < 0.05
    assert (match(fine) - fine).abs().mean() > 0.15


def test_the_advantage_of_a_fine_grid_is_taken_away():
    """The mask itself, seen finely, scores 1e8; averaged to one grid it scores as a coarse map."""
    fine = KEY.float()[None]
    coarse = match(fine)
    assert local_focus_ratio(fine, KEY).item() > 1e7
    assert 1.5 < local_focus_ratio(coarse, KEY).item() < 6
    again = local_focus_ratio(match(coarse), KEY)
    assert again.item() < local_focus_ratio(coarse, KEY).item()


def test_zero_maps_stay_zero():
    assert match(torch.zeros(2, 48, 48)).sum() == 0


def test_nan_is_refused():
    heat = torch.ones(2, 48, 48)
    heat[1, 3, 4] = torch.nan
    with pytest.raises(UserError, match="NaN or infinity in 1 of 2, first in map 1"):
        match(heat)
