import numpy as np
import pytest
import torch
from torch.nn.functional import interpolate

from fer_lightning.look.metrics import LocalFocusRatio, local_focus_ratio, summarise_ratio


def loop(heat: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Equation 4, one image and one region at a time."""
    with np.errstate(invalid="ignore"):
        return np.array(
            [
                [h[m].mean() / (h[~m].mean() + 1e-8) if h.any() else np.nan for m in masks]
                for h in heat
            ]
        )


def test_equals_the_loop(heat, regions) -> None:
    expected = loop(heat.double().numpy(), regions.numpy())
    exact = local_focus_ratio(heat.double(), regions).numpy()
    np.testing.assert_allclose(exact, expected, rtol=1e-12)
    np.testing.assert_allclose(local_focus_ratio(heat, regions).numpy(), expected, rtol=1e-5)


def test_maps_without_any_model(regions) -> None:
    key = regions.any(0)
    uniform = torch.ones(1, 48, 48)
    assert local_focus_ratio(uniform, key).item() == 1 / (1 + 1e-8)  # so the share >= 1 is 0
    assert local_focus_ratio(key[None].float(), key).item() == pytest.approx(1e8)
    assert local_focus_ratio((~key)[None].float(), key).item() == 0

    # The mask itself seen at a coarser grid: the finer the grid, the higher the ratio.
    seen = [
        interpolate(
            interpolate(key[None, None].float(), size=(n, n), mode="area"),
            size=(48, 48),
            mode="bilinear",
        )[0]
        for n in (3, 6, 8, 48)
    ]
    ratios = [local_focus_ratio(map_ / map_.max(), key).item() for map_ in seen]
    assert ratios == sorted(ratios)
    assert ratios[0] > 1.2
    assert ratios[-1] == pytest.approx(1e8)

    # A blob in the middle knows nothing of faces, yet every such map counts as focused.
    distance = ((torch.arange(48) - 23.5) ** 2)[:, None] + (torch.arange(48) - 23.5) ** 2
    blobs = torch.stack([torch.exp(-distance / (2 * sigma**2)) for sigma in (16, 12, 8)])
    values = local_focus_ratio(blobs, key)
    assert (values > 1).all()
    assert values.tolist() == sorted(values.tolist())


def test_normalise_by_the_maximum_not_min_max(regions) -> None:
    key = regions.any(0)
    bump = key.float() * 0.5 + 0.1
    on_pedestal = [
        local_focus_ratio((bump + p)[None] / (bump + p).max(), key).item() for p in (0, 1, 3)
    ]
    assert on_pedestal == pytest.approx([0.6 / 0.1, 1.6 / 1.1, 3.6 / 3.1], rel=1e-5)


def test_a_zero_map_is_never_averaged_in(regions) -> None:
    key = regions.any(0)
    heat = torch.stack([key * 2.0 + 1, torch.zeros(48, 48), torch.zeros(48, 48)])
    metric = LocalFocusRatio()
    metric.update(heat, key)
    result = metric.compute()
    assert result["mean"].item() == pytest.approx(3)
    assert result["mean_zeros_in"].item() == pytest.approx(1)
    assert result["share_ge_1"].item() == 1
    assert result["share_ge_1_zeros_in"].item() == pytest.approx(1 / 3)
    assert (result["n"].item(), result["zero_maps"].item()) == (3, 2)


def test_class_equals_function_over_batches(heat, regions) -> None:
    metric = LocalFocusRatio()
    for part in heat.split(7):
        metric.update(part, regions)
    result = metric.compute()
    expected = local_focus_ratio(heat, regions)
    assert torch.allclose(result["values"], expected, rtol=1e-6, equal_nan=True)
    for name, value in summarise_ratio(expected).items():
        assert value.shape == (3,)
        assert torch.allclose(result[name].double(), value.double(), rtol=1e-5), name
    metric.reset()
    metric.update(heat[:2], regions[0])  # another number of regions is fine after a reset
    assert metric.compute()["values"].shape == (2,)


def test_log_floor_is_used(regions) -> None:
    key = regions.any(0)
    metric = LocalFocusRatio(log_floor=0.01)
    metric.update((~key)[None].float(), key)  # LFR 0
    assert metric.compute()["log_mean"].item() == pytest.approx(np.log(0.01))
