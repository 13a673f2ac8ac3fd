"""The record of two models: what it holds and what it says it cannot say."""

import math

import numpy as np
import pytest
import scipy.stats

from fer_lightning.errors import UserError
from fer_lightning.statistics import compare, compare_differences


def test_accuracy_of_two_models_seed_by_seed():
    first = np.array([[1, 1, 1, 0], [1, 1, 0, 0]])
    second = np.array([[1, 0, 0, 0], [1, 1, 0, 1]])
    found = compare(first, second)
    assert found.estimate == pytest.approx((0.5 - 0.25) / 2)
    assert [seed.estimate for seed in found.per_seed] == [0.5, -0.25]
    assert (found.n, found.excluded, found.resamples) == (4, 0, 10_000)
    assert found.interval is found.seeds


def test_p_of_the_protocol_is_mcnemars_in_the_exact_limit():
    rng = np.random.default_rng(1)
    a, b = rng.random(3589) < 0.49, rng.random(3589) < 0.47
    exact = scipy.stats.binomtest(int((a & ~b).sum()), int((a ^ b).sum())).pvalue
    assert compare(a, b, resamples=100_000).p == pytest.approx(exact, abs=0.01)


def test_one_seed_says_that_it_cannot_speak_of_training():
    found = compare([1, 1, 0], [0, 1, 0])
    assert found.seeds is None
    assert found.interval is found.images
    assert "one seed" in found.speaks_of
    assert "training randomness" in found.speaks_of


def test_several_seeds_say_how_many():
    assert "as far as 3 seeds show it" in compare(np.eye(3), np.zeros((3, 3))).speaks_of


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
