"""Families of tests against statsmodels."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from fer_lightning.statistics import ALPHA, bonferroni, family_level, family_resamples, holm

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


@given(st.integers(1, 200))
def test_enough_resamples_for_the_smallest_adjusted_p(tests):
    B = family_resamples(tests)
    assert B >= 10_000
    assert 2 * tests / (B + 1) < ALPHA / 2
    fewest = family_resamples(tests, at_least=0)
    assert 2 * tests / fewest >= ALPHA / 2  # one less would not do


def test_level_of_intervals():
    assert family_level(1) == 0.995
    assert family_level(10) == pytest.approx(0.9995)
