import cv2
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from fer_lightning.errors import UserError
from fer_lightning.look.metrics import (
    LocalSensitivityIndex,
    local_sensitivity_index,
    region_overlap,
)
from fer_lightning.look.metrics.lsi import TILE


def one_overlap(map_: np.ndarray, region: np.ndarray, threshold: float) -> float:
    """The definition for one map and one region."""
    if not map_.any():
        return np.nan
    labels, _ = ndimage.label(map_ >= threshold * map_.max(), structure=np.ones((3, 3)))
    touching = np.unique(labels[region])
    active = np.isin(labels, touching[touching > 0])
    return (active & region).sum() / (active | region).sum() if active.any() else 0.0


def loop(heat: torch.Tensor, regions: torch.Tensor, threshold: float) -> np.ndarray:
    if regions.ndim == 3:
        regions = regions.expand(len(heat), *regions.shape)
    return np.array(
        [
            [one_overlap(h, r, threshold) for r in own]
            for h, own in zip(heat.numpy(), regions.numpy(), strict=True)
        ]
    )


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.9, 1.0])
def test_equals_the_loop_exactly(heat, regions, own_regions, threshold) -> None:
    for masks in (regions, own_regions):
        found = region_overlap(heat, masks, threshold).numpy()
        np.testing.assert_array_equal(found, loop(heat, masks, threshold))
    index = local_sensitivity_index(heat, regions, threshold)
    assert torch.equal(
        index.nan_to_num(-1), region_overlap(heat, regions, threshold).mean(1).nan_to_num(-1)
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(2, 7), st.integers(1, 9))
def test_equals_the_loop_on_noise(seed: int, h: int, w: int, images: int) -> None:
    # Small noisy maps have hot pixels at every border, so parts would leak into a neighbouring map.
    generator = np.random.default_rng(seed)
    heat = torch.from_numpy(generator.integers(0, 5, (images, h, w)).astype(np.float32))
    regions = torch.from_numpy(generator.random((2, h, w)) < 0.4)
    regions[:, 0, 0], regions[:, -1, -1] = True, False
    found = region_overlap(heat, regions).numpy()
    np.testing.assert_array_equal(found, loop(heat, regions, 0.5))


def test_more_maps_than_one_tile(heat, regions, own_regions) -> None:
    times = TILE // 60 + 2
    many = heat.repeat(times, 1, 1)
    for masks, repeated in ((regions, regions), (own_regions, own_regions.repeat(times, 1, 1, 1))):
        expected = region_overlap(heat, masks).repeat(times, 1)
        assert torch.equal(region_overlap(many, repeated).nan_to_num(-1), expected.nan_to_num(-1))


def test_diagonal_neighbours_are_connected() -> None:
    heat = torch.eye(4)[None]
    corner = torch.zeros(4, 4, dtype=torch.bool)
    corner[0, 0] = True
    assert region_overlap(heat, corner).item() == 0.25  # the whole diagonal touches the corner
    assert cv2.connectedComponents(torch.eye(4, dtype=torch.uint8).numpy(), connectivity=4)[0] == 5


def test_known_maps(regions) -> None:
    area = regions.sum((1, 2)) / 48**2
    uniform = torch.ones(1, 48, 48)
    assert local_sensitivity_index(uniform, regions).item() == pytest.approx(area.mean().item())

    # A map of the mouth alone covers one of three regions, exactly.
    mouth = regions[2:].float()
    assert region_overlap(mouth, regions).tolist() == [[0, 0, 1]]
    assert local_sensitivity_index(mouth, regions).item() == pytest.approx(1 / 3)

    # Heat that touches no region: the index is 0, which is not the same as having no map.
    corner = torch.zeros(1, 48, 48)
    corner[0, :3, :3] = 1
    assert local_sensitivity_index(corner, regions).item() == 0


def test_class_counts_zero_maps_both_ways(heat, regions) -> None:
    metric = LocalSensitivityIndex(threshold=0.3)
    for part in heat.split(25):
        metric.update(part, regions)
    result = metric.compute()
    expected = local_sensitivity_index(heat, regions, 0.3)
    assert torch.equal(result["values"].nan_to_num(-1), expected.nan_to_num(-1))
    assert result["mean"].item() == pytest.approx(expected.nanmean().item())
    assert result["mean_zeros_in"].item() == pytest.approx(expected.nansum().item() / 60)
    assert result["zero_maps"].item() == 3


@pytest.mark.parametrize("threshold", [0, -1, 1.1, float("nan")])
def test_threshold_is_a_share(heat, regions, threshold) -> None:
    with pytest.raises(UserError, match="threshold above 0 and at most 1"):
        region_overlap(heat, regions, threshold)
