"""McNemar's exact test against statsmodels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as theirs

from fer_lightning.errors import UserError
from fer_lightning.statistics import mcnemar


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 9), st.integers(0, 9))
def test_agrees_with_statsmodels(b, c, both, neither):
    first = np.repeat([True, False, True, False], [b, c, both, neither])
    second = np.repeat([False, True, True, False], [b, c, both, neither])
    found = mcnemar(first, second)
    assert (found.only_first, found.only_second) == (b, c)
    if b + c:
        assert found.p == pytest.approx(theirs([[both, b], [c, neither]], exact=True).pvalue)
    else:
        assert found.p == 1
    assert found.p == mcnemar(second, first).p


def test_p_is_not_0_where_a_float_would_be():
    assert mcnemar(np.ones(3589, dtype=bool), np.zeros(3589, dtype=bool)).p > 0


def test_answers_to_other_images_are_refused():
    with pytest.raises(UserError, match="the same images"):
        mcnemar(np.ones(3, dtype=bool), np.ones(4, dtype=bool))
