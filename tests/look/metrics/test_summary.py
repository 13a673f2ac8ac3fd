import numpy as np
import pytest
import torch
from scipy import stats

from fer_lightning.look.metrics import summarise, summarise_ratio


def test_equals_numpy() -> None:
    values = np.random.default_rng(0).lognormal(0, 3, (50, 4))  # heavy-tailed, even number
    values[[3, 9], 1] = np.nan
    result = summarise(torch.from_numpy(values))
    np.testing.assert_allclose(result["mean"], np.nanmean(values, 0))
    np.testing.assert_allclose(result["sd"], np.nanstd(values, 0, ddof=1))
    np.testing.assert_allclose(result["median"], np.nanmedian(values, 0))
    assert result["n"].tolist() == [50] * 4
    assert result["zero_maps"].tolist() == [0, 2, 0, 0]

    ratio = summarise_ratio(torch.from_numpy(values))
    np.testing.assert_allclose(ratio["log_mean"].exp(), stats.gmean(values, nan_policy="omit"))
    assert ratio["share_ge_1"][1].item() == pytest.approx((values[:, 1] >= 1).sum() / 48)
    assert ratio["share_ge_1_zeros_in"][1].item() == pytest.approx((values[:, 1] >= 1).sum() / 50)
    np.testing.assert_allclose(ratio["mean_zeros_in"], np.nan_to_num(values).mean(0))
    np.testing.assert_allclose(ratio["median_zeros_in"], np.median(np.nan_to_num(values), 0))


def test_what_happens_to_zero_maps_decides_the_verdict() -> None:
    # As measured on a ViT whose maps were zero for 83 of 200 faces.
    values = torch.full((200,), 1.46)
    values[:83] = torch.nan
    result = summarise_ratio(values)
    assert result["mean"].item() == pytest.approx(1.46)
    assert result["mean_zeros_in"].item() == pytest.approx(1.46 * 117 / 200)  # below 1
    assert result["zero_maps"].item() == 83


def test_nothing_but_zero_maps() -> None:
    result = summarise_ratio(torch.full((3, 2), torch.nan))
    for name in ("mean", "sd", "median", "log_mean", "share_ge_1"):
        assert result[name].isnan().all(), name
    assert result["mean_zeros_in"].tolist() == [0, 0]
    assert result["zero_maps"].tolist() == [3, 3]


def test_one_value_has_no_spread() -> None:
    result = summarise(torch.tensor([2.0, torch.nan]))
    assert result["mean"].item() == 2
    assert result["sd"].isnan()


def test_both_tails_weigh_the_same() -> None:
    assert summarise_ratio(torch.tensor([0.0, 1e8]))["log_mean"].item() == pytest.approx(
        0, abs=1e-9
    )
