"""Verdicts on the lead and its change with data."""

import math
from dataclasses import replace

import pytest
from evidence_samples import cell

from fer_lightning.hypotheses.evidence import Evidence, by_key
from fer_lightning.hypotheses.h1_data_efficiency import change_of_lead, lead
from fer_lightning.hypotheses.registry import TwoModels

SEEDS = (1, 2, 3)


def cells(table, seeds=SEEDS, n=2000):
    """Cells from {(model, fraction): accuracy}, which spread by half a point around it."""
    return by_key(
        cell(model, fraction, seed, accuracy + 0.005 * (seed - 2), n)
        for (model, fraction), accuracy in table.items()
        for seed in seeds
    )


def asked(found, fractions, seeds=SEEDS):
    """What a judge of H1 gets: the question, and these cells as evidence."""
    question = TwoModels(hypothesis="H1a", first="cnn", second="vit")
    return question, Evidence(found, {}, tuple(fractions), tuple(seeds))


def outcomes(verdicts):
    return [verdict.outcome for verdict in verdicts]


def test_a_clear_lead_at_each_fraction_is_supported():
    found = cells({("cnn", 0.3): 0.6, ("vit", 0.3): 0.4, ("cnn", 1.0): 0.7, ("vit", 1.0): 0.5})
    verdicts = lead(*asked(found, [1.0, 0.3]))
    assert outcomes(verdicts) == ["supported"] * 3
    assert [v.statement.split(" at ")[1] for v in verdicts] == [
        "30 % of the training data",
        "100 % of the training data",
        "every fraction of the training data",
    ]
    row = verdicts[0].numbers[0]
    assert row["estimate"] == pytest.approx(20)  # points
    assert row["level"] == 1 - 0.005 / 2
    assert row["p_bonferroni"] == pytest.approx(2 * row["p"])
    assert row["for"] == "the architecture"
    beside = verdicts[0].numbers[1]
    assert (beside["for"], beside["test"]) == ("these trainings", "signs")
    assert row["low"] < beside["low"] < beside["high"] < row["high"]
    assert beside["estimate"] == pytest.approx(20)
    assert [r["comparison"][-6:] for r in verdicts[0].numbers[2:]] == ["seed 1", "seed 2", "seed 3"]
    assert "with 3 trainings of each model that spread as these do" in verdicts[0].caveats[0]


def test_a_lead_of_the_other_model_is_not_supported_and_decides_the_whole():
    found = cells({("cnn", 0.3): 0.4, ("vit", 0.3): 0.6, ("cnn", 1.0): 0.7, ("vit", 1.0): 0.5})
    verdicts = lead(*asked(found, [0.3, 1.0]))
    assert outcomes(verdicts) == ["not supported", "supported", "not supported"]


def test_a_lead_within_chance_is_undecided():
    found = cells({("cnn", 0.3): 0.505, ("vit", 0.3): 0.5})
    verdicts = lead(*asked(found, [0.3]))
    assert outcomes(verdicts) == ["undecided", "undecided"]
    assert [verdict.kind for verdict in verdicts] == ["no power", "no power"]
    row = verdicts[0].numbers[0]
    size = float(verdicts[0].reason.split("No power: here no difference under ")[1].split()[0])
    assert size == pytest.approx((row["high"] - row["low"]) / 2, abs=0.05)
    assert row["p"] > 0.5


def test_seeds_that_disagree_leave_it_undecided():
    accuracy = {1: 0.70, 2: 0.68, 3: 0.42}
    found = by_key(
        one
        for seed in SEEDS
        for one in (cell("cnn", 0.3, seed, accuracy[seed]), cell("vit", 0.3, seed, 0.5))
    )
    verdict = lead(*asked(found, [0.3]))[0]
    row, beside = verdict.numbers[:2]
    assert beside["low"] > 0  # for these trainings the answer is yes
    assert beside["p_bonferroni"] < 0.005
    assert row["low"] < 0 < row["p"] - 0.005
    assert verdict.outcome == "undecided"


def test_missing_cells_are_named_and_leave_it_undecided():
    found = cells({("cnn", 0.3): 0.6, ("vit", 0.3): 0.4})
    del found["vit", 0.3, 3]
    verdict, nothing, whole = lead(*asked(found, [0.3, 0.6]))
    assert verdict.outcome == "undecided"
    assert verdict.missing == ["vit-30pct-seed3"]
    assert verdict.numbers[0]["seeds"] == 2
    assert "So far" in verdict.reason
    assert nothing.numbers == []
    assert "vit-60pct-seed1" in nothing.reason
    assert whole.outcome == "undecided"
    assert whole.missing[0] == "vit-30pct-seed3"
    assert [one.kind for one in (verdict, nothing, whole)] == ["missing"] * 3


def test_one_seed_gives_no_verdict():
    found = cells({("cnn", 0.3): 0.6, ("vit", 0.3): 0.4}, seeds=[1])
    verdict, whole = lead(*asked(found, [0.3], [1]))
    assert (verdict.outcome, verdict.kind, verdict.missing) == ("undecided", "missing", [])
    assert "One training of each model says nothing of how much the next" in verdict.reason
    assert "Train at least two seeds" in verdict.reason
    row, beside = verdict.numbers[:2]
    assert (row["low"], row["high"], row["p_bonferroni"]) == (-math.inf, math.inf, 1.0)
    assert beside["low"] > 15  # for this training it stands
    assert beside["p_bonferroni"] < 0.005
    assert (whole.outcome, whole.kind) == ("undecided", "missing")


def test_without_a_plan_it_says_that_fractions_were_found():
    question, evidence = asked(cells({("cnn", 0.3): 0.6, ("vit", 0.3): 0.4}), [0.3])
    assert lead(question, evidence)[-1].reason.startswith("Of 1 planned: ")
    found = lead(question, replace(evidence, planned=False))[-1]
    assert found.reason.startswith("Of 1 found, for there is no plan: ")


@pytest.mark.parametrize(
    ("late", "outcome"), [(0.45, "supported"), (0.95, "not supported"), (0.70, "undecided")]
)
def test_change_of_the_lead(late, outcome):
    table = {("cnn", 0.3): 0.6, ("vit", 0.3): 0.4, ("cnn", 1.0): late, ("vit", 1.0): 0.5}
    (verdict,) = change_of_lead(*asked(cells(table), [0.3, 0.6, 1.0]))
    assert verdict.outcome == outcome
    assert verdict.numbers[0]["estimate"] == pytest.approx(20 - 100 * (late - 0.5))
    assert "9.2, 16.5 and 19.2" in verdict.caveats[-1]


def test_one_fraction_has_no_change():
    (verdict,) = change_of_lead(*asked({}, [0.3]))
    assert verdict.outcome == "undecided"
    assert "needs two fractions" in verdict.reason
