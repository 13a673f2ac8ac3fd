"""The sign-flip test against SciPy and exact distributions."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from fer_lightning.errors import UserError
from fer_lightning.statistics import sign_flip_test, smallest_p
from fer_lightning.statistics.comparison import compare, wilcoxon_p


def difference(x, y, axis):
    return (x - y).mean(axis)


def scipy_p(a, b, resamples=9999):
    return scipy.stats.permutation_test(
        (a, b),
        difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=500,
        rng=2,
    ).pvalue


@pytest.mark.parametrize("shares", [(0.50, 0.45), (0.50, 0.50), (0.40, 0.48)])
def test_agrees_with_scipy_and_the_binomial_test(shares):
    rng = np.random.default_rng(0)
    a, b = (np.asarray(rng.random(300) < share, dtype=float) for share in shares)
    ours = sign_flip_test(a - b, 200_000)
    exact = scipy.stats.binomtest(int((a > b).sum()), int((a != b).sum())).pvalue
    assert ours == pytest.approx(exact, abs=0.01)  # 5 SDs
    assert ours == pytest.approx(scipy_p(a, b), abs=0.04)  # SciPy's 10,000 have an SD of 0.009


def test_agrees_with_scipy_on_real_values():
    rng = np.random.default_rng(4)
    a, b = rng.lognormal(0.12, size=200), rng.lognormal(0.0, size=200)
    assert sign_flip_test(a - b) == pytest.approx(scipy_p(a, b), abs=0.04)


def test_seeds_are_flipped_together():
    # with the mean over seeds as the value of an image, both are the same test
    rng = np.random.default_rng(5)
    values = rng.choice([-1.0, 0.0, 1.0], p=[0.25, 0.45, 0.3], size=(3, 400))
    together = sign_flip_test(values)
    assert together == pytest.approx(sign_flip_test(values.mean(0)), abs=1e-9)
    assert together == pytest.approx(scipy_p(values.mean(0), np.zeros(400)), abs=0.03)


def test_few_images_give_their_exact_p():
    # three equal differences: each of 8 sign patterns is as likely, and 1 is as large
    assert sign_flip_test(np.ones(3)) == pytest.approx(2 / 8, abs=0.02)


def test_missing_pairs_change_nothing():
    rng = np.random.default_rng(6)
    values = rng.normal(0.1, size=120)
    with_missing = np.concatenate([values, np.full(30, np.nan)])
    assert sign_flip_test(with_missing) == pytest.approx(sign_flip_test(values), abs=1e-9)


def test_false_alarms_are_as_rare_as_stated():
    rng = np.random.default_rng(7)
    p = [sign_flip_test(rng.normal(size=40), 499, seed=i) for i in range(400)]
    assert np.mean(np.array(p) <= 0.1) == pytest.approx(0.1, abs=0.04)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.integers(0, 5))
def test_p_is_never_0_and_knows_no_direction(values, seed):
    p = sign_flip_test(np.array(values), 200, seed)
    assert smallest_p(200) <= p <= 1
    assert p == sign_flip_test(-np.array(values), 200, seed)


def test_smallest_p_of_the_protocol():
    assert smallest_p(10_000) == pytest.approx(2e-4, rel=1e-3)
    assert sign_flip_test(np.full(3000, 0.3)) == smallest_p()


def test_values_of_no_image_are_refused():
    with pytest.raises(UserError, match="expected values for each seed"):
        sign_flip_test(np.array([np.nan]))


def test_wilcoxon_by_hand_over_seeds_and_without_missing_images():
    """Ranks 1 to 5, of which only the smallest is negative: 2 * 2 of the 32 signs are as far."""
    means = np.array([-1.0, 2.0, 3.0, 4.0, 5.0, 0.0])
    seeds = np.stack([means - 0.5, means + 0.5])
    lost = np.array([[9.0], [np.nan]])
    assert wilcoxon_p(np.hstack([seeds, lost])) == pytest.approx(4 / 32)
    assert wilcoxon_p(-seeds) == pytest.approx(4 / 32)


def test_a_comparison_has_wilcoxons_p():
    rng = np.random.default_rng(0)
    first, second = rng.random((3, 80)), rng.random((3, 80))
    expected = scipy.stats.wilcoxon(first.mean(0) - second.mean(0)).pvalue
    assert compare(first, second).p_wilcoxon == pytest.approx(expected)
