"""The rule of a verdict and the words around it."""

from dataclasses import replace

import pytest
from scipy.special import stdtrit

from fer_lightning.hypotheses.verdict import (
    adjust,
    in_words,
    judge,
    row_of,
    rule_for,
    seed_caveats,
    trainings_row,
)
from fer_lightning.statistics import Interval, NewTrainings, compare

RESULT = compare([[1, 1, 0, 1]] * 3, [[0, 0, 0, 1]] * 3)


def with_interval(low, high):
    """A comparison whose interval for the architecture is this one; images leave nothing open."""
    middle, reach = (low + high) / 2, (high - low) / 2
    error = reach / -stdtrit(4, 0.0025)
    known = NewTrainings(middle, 3, (error * 3**0.5,), 4.0, 0.0, 100)
    return replace(RESULT, trainings=known)


@pytest.mark.parametrize(
    ("low", "high", "p", "outcome"),
    [
        (0.1, 0.3, 0.001, "supported"),
        (-0.3, -0.1, 0.001, "not supported"),
        (-0.1, 0.3, 0.001, "undecided"),
        (-1e-9, 0.3, 0.001, "undecided"),  # 0 belongs to the interval
        (0.1, 0.3, 0.005, "undecided"),  # below alpha, not at it
        (-0.3, -0.1, 0.02, "undecided"),
    ],
)
def test_interval_and_p_must_agree(low, high, p, outcome):
    found = with_interval(low, high)
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=1e-8)
    assert judge(found, p) == outcome


def test_it_rests_on_the_interval_for_the_architecture():
    wide = with_interval(-0.1, 0.9)
    certain = replace(wide, images=Interval(0.4, 0.3, 0.5, 0.995))
    assert judge(certain, 0.0002) == "undecided"
    architecture, trainings = row_of("lead", certain), trainings_row("lead", certain)
    assert (architecture["for"], trainings["for"]) == ("the architecture", "these trainings")
    assert (trainings["low"], trainings["high"]) == (30.0, 50.0)
    assert (trainings["kind"], trainings["p"]) == ("trainings", RESULT.p_images)


def test_rule_names_family_and_alpha():
    rule = rule_for("lead", 6, 0.01)
    for words in (
        *("times 6 tests (Bonferroni)", "alpha = 0.01", "1 - alpha / 6", "missing"),
        *("with one training of each model", "for the architecture", "for these trainings"),
    ):
        assert words in rule


def test_points_are_percent():
    row = row_of("lead", RESULT)
    assert (row["estimate"], row["unit"], row["seeds"]) == (50.0, "points", 3)
    assert row_of("lead", RESULT, "")["estimate"] == 0.5


def test_tests_still_to_come_count_in_the_family():
    first, second = adjust([{"p": 0.01}, {"p": 0.02}], tests=4)
    assert (first["p_bonferroni"], second["p_bonferroni"]) == pytest.approx((0.04, 0.08))
    assert (first["p_holm"], second["p_holm"]) == pytest.approx((0.04, 0.06))


def test_few_seeds_say_what_they_cannot_say():
    (caveat,) = seed_caveats(with_interval(-0.1, 0.3))
    assert "no difference under 20.0 points could be supported; with 3 trainings" in caveat
    assert "in fewer than 80 % of studies" in caveat
    assert seed_caveats(compare([1, 0], [0, 0])) == []  # the verdict itself says it


def test_where_seeds_decide_nothing_no_difference_above_100_points_is_named():
    (caveat,) = seed_caveats(with_interval(-27.2, 27.4))
    assert (
        "no difference at all could be supported, for it would have to be above 100 points"
        in caveat
    )
    assert "2730" not in caveat
    (some,) = seed_caveats(with_interval(-0.9, 0.9))
    assert "no difference under 90.0 points could be supported" in some
    assert some.endswith("none is found in 80 % of studies.")


def test_a_difference_of_differences_may_reach_200_points():
    found = with_interval(-1.5, 1.5)
    four = replace(
        found, trainings=replace(found.trainings, spreads=(found.trainings.spreads[0],) * 4)
    )
    assert "above 200 points" in seed_caveats(four)[0]


def test_an_interval_that_holds_every_difference_is_told_in_words():
    row = row_of("lead", with_interval(-27.2, 27.4)) | {"p_bonferroni": 1.0}
    assert "interval wider than -100 to +100" in in_words(row)
