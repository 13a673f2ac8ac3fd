"""What is said before a study is trained."""

import pytest

from fer_lightning.hypotheses import ask_by_default
from fer_lightning.hypotheses.planning import seeds_for


@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_no_plan_promises_a_difference_above_100_points(spread):
    (asked, *_) = ask_by_default("cnn", "vit")
    few, more = (seeds_for([asked], [0.3], seeds, 3633, spread)[1] for seeds in (2, 5))
    assert few.endswith("with the 2 planned none at all, for it would have to be above 100 points.")
    assert ("with the 5 planned, one of " in more) == (spread == 1.0)
