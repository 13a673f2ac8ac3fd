import math

import pytest
import torch

from fer_lightning.data.masks import template
from fer_lightning.errors import UserError
from fer_lightning.look.controls.null_maps import (
    SIGMAS,
    centre_gaussian,
    mean_map,
    null_maps,
    random_grid,
    uniform,
)
from fer_lightning.look.metrics import local_focus_ratio

KEY = torch.tensor(template(48)["key"])


def test_a_uniform_map_scores_one():
    heat = uniform(3, (48, 48))
    assert heat.shape == (3, 48, 48)
    assert local_focus_ratio(heat, KEY).tolist() == pytest.approx([1.0] * 3, abs=1e-6)


def test_gaussian_falls_off_as_its_formula_says():
    blob = centre_gaussian(2, (48, 24), sigma=0.25)
    assert blob.shape == (2, 48, 24)
    # the centre lies between four pixels, which share the maximum; sigma is 12 rows, 6 columns
    along_y = math.exp(-0.5 * ((12.5**2 - 0.5**2) / 12**2))
    along_x = math.exp(-0.5 * ((6.5**2 - 0.5**2) / 6**2))
    assert blob[1, 23:25, 11:13].tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert blob[0, 36, 12].item() == pytest.approx(along_y, rel=1e-5)
    assert blob[0, 24, 18].item() == pytest.approx(along_x, rel=1e-5)


def test_a_contentless_blob_looks_focused():
    """The warning of the whole package: no looking, yet every map scores at least 1."""
    scores = [local_focus_ratio(centre_gaussian(1, (48, 48), s), KEY).item() for s in SIGMAS]
    assert 1.2 < scores[0] < scores[1] < scores[2]


def test_gaussian_needs_a_width():
    with pytest.raises(UserError, match="sigma above 0 but got 0"):
        centre_gaussian(1, (8, 8), 0)


def test_random_maps_are_seeded_and_at_the_given_grid():
    maps = random_grid(5, (48, 48), (6, 6), seed=1)
    torch.testing.assert_close(maps, random_grid(5, (48, 48), (6, 6), seed=1), rtol=0, atol=0)
    assert not torch.equal(maps, random_grid(5, (48, 48), (6, 6), seed=2))
    assert not torch.equal(maps[0], maps[1])
    # bilinear between cell centres, 8 pixels apart: second differences vanish in between
    inside = maps[:, 24, 12:19]
    assert (inside[:, 2:] - 2 * inside[:, 1:-1] + inside[:, :-2]).abs().max() < 1e-6


def test_random_maps_prefer_no_region():
    log = local_focus_ratio(random_grid(2000, (48, 48), (8, 8), seed=0), KEY).log()
    assert abs(log.mean().item()) < 0.05  # its standard error is about 0.01
    assert (log >= 0).double().mean().item() == pytest.approx(0.5, abs=0.05)


def test_on_a_coarse_grid_some_noise_is_zero_as_maps_of_models_are():
    maps = random_grid(400, (48, 48), (2, 2), seed=0)
    zero = (maps.amax((1, 2)) == 0).double().mean().item()
    assert zero == pytest.approx(1 / 16, abs=0.05)


def test_mean_map_is_the_same_for_each_image_and_ignores_zero_maps():
    heat = torch.tensor([[[1.0, 0.5]], [[0.0, 1.0]], [[0.0, 0.0]]])
    expected = torch.tensor([[[2 / 3, 1.0]]])  # of sums 1 and 1.5
    torch.testing.assert_close(mean_map(heat), expected.expand(3, 1, 2))


def test_mean_of_zero_maps_is_zero():
    assert mean_map(torch.zeros(2, 3, 3)).sum() == 0


def test_all_null_maps_have_the_shape_of_the_models():
    maps = null_maps(torch.rand(4, 16, 20), (4, 5), seed=3)
    assert len(maps) == 6
    for heat in maps.values():
        assert heat.shape == (4, 16, 20)
        assert heat.amax((1, 2)).tolist() == pytest.approx([1.0] * 4)
