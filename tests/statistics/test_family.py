"""Families of tests against statsmodels."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from fer_lightning.statistics import RESAMPLES, bonferroni, family_level, family_resamples, holm

SEVERAL = st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=20)


@settings(max_examples=15, deadline=None)  # its Holm takes 0.1 s
@given(SEVERAL)
def test_agree_with_statsmodels(p):
    for ours, name in ((bonferroni, "bonferroni"), (holm, "holm")):
        assert ours(p) == pytest.approx(list(multipletests(p, method=name)[1]))


@given(SEVERAL)
def test_holm_is_never_larger_than_bonferroni(p):
    for single, stepped, simple in zip(p, holm(p), bonferroni(p), strict=True):
        assert single <= stepped <= simple <= 1


@given(st.integers(1, 200), st.sampled_from([0.005, 0.05]))
def test_enough_resamples_for_ends_that_stay(tests, alpha):
    B = family_resamples(tests, alpha, at_least=0)
    beyond = B * (1 - family_level(tests, alpha)) / 2
    assert beyond == pytest.approx(50, abs=0.01)
    assert 2 * tests / (B + 1) < alpha / 50 + 1e-9  # the smallest adjusted p
    assert family_resamples(tests, alpha) >= RESAMPLES


def test_level_of_intervals():
    assert family_level(1) == 0.995
    assert family_level(10) == pytest.approx(0.9995)
