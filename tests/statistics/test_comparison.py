"""The record of two models: what it holds and what it says it cannot say."""

import math

import numpy as np
import pytest
import scipy.stats

from fer_lightning.errors import UserError
from fer_lightning.statistics import compare, compare_differences, compare_sum


def test_accuracy_of_two_models_seed_by_seed():
    first = np.array([[1, 1, 1, 0], [1, 1, 0, 0]])
    second = np.array([[1, 0, 0, 0], [1, 1, 0, 1]])
    found = compare(first, second)
    assert found.estimate == pytest.approx((0.5 - 0.25) / 2)
    assert [seed.estimate for seed in found.per_seed] == [0.5, -0.25]
    assert (found.n, found.excluded, found.resamples) == (4, 0, 20_000)
    assert found.seeds == 2
    assert found.shown == found.interval


def test_p_of_the_protocol_is_mcnemars_in_the_exact_limit():
    rng = np.random.default_rng(1)
    a, b = rng.random(3589) < 0.49, rng.random(3589) < 0.47
    exact = scipy.stats.binomtest(int((a & ~b).sum()), int((a ^ b).sum())).pvalue
    assert compare(a, b, resamples=100_000).p_images == pytest.approx(exact, abs=0.01)


def test_one_seed_says_nothing_of_the_architecture():
    found = compare([1, 1, 0], [0, 1, 0])
    assert (found.interval.low, found.interval.high, found.p) == (-math.inf, math.inf, 1.0)
    assert found.shown == found.images
    assert found.p_images < 1.01


def test_a_lead_of_leads_is_the_sum_of_its_terms():
    rng = np.random.default_rng(5)
    terms = [(sign, rng.random((3, 80))) for sign in (1, -1, -1, 1)]
    found = compare_sum(terms)
    assert found.estimate == pytest.approx(sum(sign * values.mean() for sign, values in terms))
    alone = compare_differences(sum(sign * values for sign, values in terms))
    assert (found.images.low, found.p_images) == pytest.approx((alone.images.low, alone.p_images))
    assert alone.trainings.df == 2  # pairs of seeds know less than four models by themselves
    assert found.trainings.df > 2


def test_a_missing_value_takes_its_pair_with_it():
    first = np.array([1.0, 2.0, np.nan, 4.0, 5.0])
    second = np.array([0.0, np.nan, 2.0, 2.0, 1.0])
    found = compare(first, second)
    assert (found.n, found.excluded) == (5, 2)
    assert found.estimate == pytest.approx((1 + 2 + 4) / 3)
    assert found.d == pytest.approx((10 / 3 - 1) / np.sqrt((np.var([1, 4, 5], ddof=1) + 1) / 2))


def test_differences_alone_have_no_unpaired_d():
    found = compare_differences([0.5, 1.0, 1.5])
    assert math.isnan(found.d)
    assert found.d_paired == pytest.approx(2.0)


def test_same_seed_same_numbers():
    values = np.random.default_rng(0).normal(size=(2, 50))
    assert repr(compare_differences(values, seed=3)) == repr(compare_differences(values, seed=3))
    other = compare_differences(values, seed=4)
    assert compare_differences(values, seed=3).images.low != other.images.low


def test_other_images_are_refused():
    with pytest.raises(UserError, match=r"shapes \(1, 3\) and \(1, 2\)"):
        compare([1, 0, 1], [1, 0])
