"""Intervals against SciPy, known distributions and a simulation."""

from importlib import import_module

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from fer_lightning.errors import UserError
from fer_lightning.statistics import (
    bootstrap,
    family_level,
    family_resamples,
    new_trainings,
    resampled_means,
)


def answers(n=3589, seed=0, shares=(0.52, 0.45)):
    rng = np.random.default_rng(seed)
    return np.stack([rng.random(n) < share for share in shares]).astype(float)


def test_agrees_with_scipy_on_right_and_wrong():
    a, b = answers()
    theirs = scipy.stats.bootstrap(
        (a - b,),
        np.mean,
        confidence_level=0.99,
        n_resamples=4000,
        method="percentile",
        batch=200,
        rng=1,
    ).confidence_interval
    ours = bootstrap(a - b, 0.99, 40_000).images
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.002)


def test_agrees_with_scipy_on_real_values():
    values = np.random.default_rng(0).lognormal(size=200)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, confidence_level=0.95, n_resamples=20_000, method="percentile", rng=1
    ).confidence_interval
    ours = bootstrap(values, 0.95, 20_000).images
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_kinds_and_single_images_have_the_same_spread():
    a, b = answers(400)
    kinds = resampled_means((a - b)[None], 20_000, 0)
    noise = np.random.default_rng(1).normal(scale=1e-9, size=400)  # makes every image its own kind
    single = resampled_means((a - b + noise)[None], 20_000, 0)
    for means in (kinds, single):
        assert means.mean() == pytest.approx((a - b).mean(), abs=1e-3)
        assert means.std() == pytest.approx((a - b).std() / 20, rel=0.03)


def test_kept_and_streamed_resamples_are_the_same(monkeypatch):
    values = np.random.default_rng(2).normal(size=(2, 90))
    values[0, :9] = np.nan
    kept = resampled_means(values, 3000, 5)
    module = import_module("fer_lightning.statistics.bootstrap")
    monkeypatch.setattr(module, "KEPT", 0)
    monkeypatch.setattr(module, "BLOCK", 90 * 700)  # in five blocks
    np.testing.assert_allclose(resampled_means(values, 3000, 5), kept)


def test_every_value_equal_leaves_no_width():
    found = bootstrap(np.full((2, 9), 0.25))
    for interval in (found.images, *found.per_seed):
        assert (interval.low, interval.estimate, interval.high) == (0.25, 0.25, 0.25)


def test_images_are_shared_between_seeds():
    # two seeds that answer alike are one model: no narrower than a single seed
    single = answers(500)[0] - answers(500)[1]
    once, twice = bootstrap(single), bootstrap(np.stack([single, single]))
    width = once.images.high - once.images.low
    assert twice.images.high - twice.images.low == pytest.approx(width, rel=0.05)


def test_missing_values_are_left_out():
    values = np.array([[1.0, np.nan, 3.0, np.nan], [5.0, 5.0, 5.0, 5.0]])
    found = bootstrap(values)
    assert found.images.estimate == 3.5
    assert (found.per_seed[0].low, found.per_seed[0].high) == (1.0, 3.0)
    assert found.per_seed[1].low == found.per_seed[1].high == 5.0


def test_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(3)
    truth, hits = 0.1, 0
    for i in range(300):
        kinds = rng.choice([1.0, 0.0, -1.0], p=[0.3, 0.5, 0.2], size=300)
        found = bootstrap(kinds, 0.95, 1000, seed=i).images
        hits += found.low <= truth <= found.high
    assert 0.92 <= hits / 300 <= 0.98  # SD of a share of 0.95 in 300 is 0.013


def test_seeds_that_vary_are_not_covered_by_images_alone():
    # five trained models whose true difference varies: images alone know one draw of them
    rng = np.random.default_rng(8)
    truth, of_images, of_trainings = 0.1, 0, 0
    for i in range(150):
        shares = np.clip(rng.normal(truth, 0.1, 5), -0.4, 0.6)
        values = np.stack([rng.choice([1.0, 0.0], p=[0.4 + s, 0.6 - s], size=300) for s in shares])
        found = bootstrap(values - 0.4, 0.95, 500, seed=i)
        of_images += found.images.low <= truth <= found.images.high
        new = new_trainings([(1, values - 0.4)]).interval(0.95)
        of_trainings += new.low <= truth <= new.high
    assert of_images / 150 < 0.6
    assert 0.91 <= of_trainings / 150 <= 1


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([-1.0, 0.0, 1.0, 0.5]), min_size=3, max_size=60),
    st.integers(1, 3),
)
def test_mirrored_when_models_are_swapped(values, seeds):
    stacked = np.stack([np.roll(values, s) for s in range(seeds)])
    one, other = bootstrap(stacked, 0.99, 500), bootstrap(-stacked, 0.99, 500)
    for a, b in ((one.images, other.images), *zip(one.per_seed, other.per_seed, strict=True)):
        assert a.estimate == -b.estimate
        assert a.low <= a.estimate + 1e-12
        assert a.estimate - 1e-12 <= a.high
        if one.images.estimate != 0:
            assert (a.low, a.high) == pytest.approx((-b.high, -b.low))


def test_a_seed_without_values_is_refused():
    with pytest.raises(UserError, match="none for 1 of 2 seeds"):
        bootstrap(np.array([[1.0, 2.0], [np.nan, np.nan]]))


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_levels_lie_between_0_and_1(level):
    with pytest.raises(UserError, match="level between 0 and 1"):
        bootstrap(np.arange(3.0), level)


def test_ends_hardly_move_with_the_seed_of_the_resampling():
    # by less than 5 % of the half width, for a family of six; a few outliers included
    rng = np.random.default_rng(4)
    values = np.where(rng.random((3, 200)) < 0.02, 1.0, rng.normal(0.02, 0.1, (3, 200)))
    level, resamples = family_level(6), family_resamples(6)
    one, other = (bootstrap(values, level, resamples, seed) for seed in (1, 2))
    a, b = one.images, other.images
    assert max(abs(a.low - b.low), abs(a.high - b.high)) < 0.05 * (a.high - a.low) / 2
