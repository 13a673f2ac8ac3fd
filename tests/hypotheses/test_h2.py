"""Verdicts on focus, and each thing that takes support back."""

from dataclasses import replace

import numpy as np
import pytest
from evidence_samples import focus as looks

from fer_lightning.data.regions import Regions
from fer_lightning.hypotheses import judge_all, read_asked
from fer_lightning.hypotheses.focus_measures import TESTS
from fer_lightning.statistics import mcnemar

ASKED = read_asked([{"hypothesis": "H2", "first": "cnn", "second": "vit"}], ["cnn", "vit"])


def judge(first, second, seeds=(42,), fractions=(0.3,)):
    first = first if isinstance(first, list) else [first]
    second = second if isinstance(second, list) else [second]
    return judge_all(ASKED, [], [*first, *second], fractions, seeds)[0]


CNN, VIT = looks("cnn", 0.5), looks("vit", 0.0, excess=0.3)


def rows(verdict, kind):
    return [row for row in verdict.numbers if row["kind"] == kind]


def test_clear_focus_is_supported():
    verdict = judge(CNN, VIT)
    assert verdict.outcome == "supported"
    tests = rows(verdict, "test")
    assert len(tests) == TESTS == 8
    assert {row["test"] for row in tests} == {"signs", "McNemar"}
    assert all(row["level"] == 1 - 0.005 / 8 for row in tests)
    main = next(row for row in tests if row["comparison"] == "log LFR of KEY, matched")
    assert main["estimate"] == pytest.approx(0.5, abs=0.1)
    assert main["first"] - main["second"] == pytest.approx(main["estimate"])
    assert main["p_holm"] <= main["p_bonferroni"] < 0.005
    assert "arbiter" in verdict.rule


def test_shares_of_one_seed_are_tested_by_mcnemar():
    row = next(r for r in rows(judge(CNN, VIT), "test") if r["test"] == "McNemar")
    first, second = (f.lfr["native", "key"] >= 1 for f in (CNN, VIT))
    assert row["p"] == mcnemar(first, second).p < 1e-6  # smaller than resampling could tell
    assert row["estimate"] == pytest.approx(first.mean() - second.mean())


def test_the_other_direction_is_not_supported():
    assert judge(looks("cnn", 0.0), looks("vit", 0.5)).outcome == "not supported"


def test_no_difference_is_undecided():
    assert judge(looks("cnn", 0.0), looks("vit", 0.0)).outcome == "undecided"


def test_a_difference_by_resolution_alone_is_undecided_and_told():
    lfr = dict(CNN.lfr)
    low = looks("cnn", 0.0)
    matched = {key: low.lfr[key] if key[0] == "matched" else lfr[key] for key in lfr}
    verdict = judge(replace(CNN, lfr=matched), VIT)
    assert verdict.outcome == "undecided"
    assert any("resolution decides it" in caveat for caveat in verdict.caveats)


def test_an_arbiter_that_contradicts_takes_support_back():
    verdict = judge(looks("cnn", 0.5, excess=0.0), looks("vit", 0.0, excess=1.0))
    assert verdict.outcome == "undecided"
    assert "hiding the region contradicts it" in verdict.reason
    assert len(rows(verdict, "arbiter")) == 6  # two fills; each model and their difference


def test_larger_logits_are_no_larger_dependence():
    # ten times the logits, the same answers: no contradiction
    scaled = replace(VIT, excess={name: 10 * values for name, values in CNN.excess.items()})
    assert judge(CNN, scaled).outcome == "supported"


@pytest.mark.parametrize("twins", [0.6, 0.5])  # above the model, and within its interval
def test_untrained_twins_that_look_as_much_take_support_back(twins):
    verdict = judge(looks("cnn", 0.5, twins=twins), VIT)
    assert verdict.outcome == "undecided"
    assert "not above its own untrained twins" in verdict.reason


def test_a_blob_that_reaches_it_is_told():
    verdict = judge(CNN, VIT)  # gaussian_0.25 has 0.5 as well
    assert any("blob of heat at the image's centre" in caveat for caveat in verdict.caveats)


def test_zero_maps_that_turn_the_difference_round_take_support_back():
    verdict = judge(looks("cnn", 0.8, zero=150), looks("vit", 0.3))
    assert verdict.outcome == "undecided"
    assert "counting zero maps as 0" in verdict.reason
    assert any("150 of 200 pairs are left out" in caveat for caveat in verdict.caveats)
    check = next(r for r in rows(verdict, "check") if r["comparison"].startswith("share"))
    assert check["excluded"] == 0


def test_lsi_that_points_the_other_way_takes_support_back():
    high = dict.fromkeys(("native", "matched"), np.linspace(0.5, 0.6, 200))
    verdict = judge(CNN, replace(VIT, lsi=high))
    assert verdict.outcome == "undecided"
    assert "LSI points the other way" in verdict.reason


@pytest.mark.parametrize(
    ("without", "told"),
    [({"excess": {}}, "no hiding values"), ({"nulls": {}}, "no untrained twins")],
)
def test_missing_controls_take_support_back(without, told):
    verdict = judge(replace(CNN, **without), VIT)
    assert verdict.outcome == "undecided"
    assert told in verdict.reason


def test_missing_cells_are_named():
    verdict = judge([CNN, looks("cnn", 0.5, seed=43)], VIT, seeds=(42, 43))
    assert verdict.outcome == "undecided"
    assert verdict.missing == ["vit-30pct-seed43"]
    nothing = judge_all(ASKED, [], [], [0.3], [42])[0]
    assert nothing.outcome == "undecided"
    assert nothing.missing == ["cnn-30pct-seed42", "vit-30pct-seed42"]


def test_maps_at_their_own_resolution_alone_are_undecided():
    native = {key: values for key, values in CNN.lfr.items() if key[0] == "native"}
    verdict = judge(replace(CNN, lfr=native), VIT)
    assert verdict.outcome == "undecided"
    assert verdict.reason == "No maps at one resolution."


def test_a_model_with_zero_maps_only():
    verdict = judge(looks("cnn", 0.5, zero=200), VIT)
    assert verdict.outcome == "undecided"


def test_several_seeds_flip_images_together():
    seeds = (1, 2, 3)
    cnn = [looks("cnn", 0.5, seed=s) for s in seeds]
    vit = [looks("vit", 0.0, seed=s, excess=0.3) for s in seeds]
    verdict = judge(cnn, vit, seeds)
    assert verdict.outcome == "supported"
    assert {row["test"] for row in rows(verdict, "test")} == {"signs"}
    assert len(rows(verdict, "seed")) == 3
    assert "for these seeds" in verdict.caveats[0]


def test_maps_at_the_limits_are_told():
    lfr = {key: values.copy() for key, values in CNN.lfr.items()}
    lfr["matched", "key"][:3] = [0.0, 1e8, 0.0]
    verdict = judge(replace(CNN, lfr=lfr), VIT)
    assert verdict.caveats[-1].endswith("outside KEY weigh most in log LFR: 3.")


def test_the_verdict_speaks_of_the_data_sets_own_region():
    plate = Regions("plate", ("defect", "print"), {}, "defect", "plate")

    def on_plates(focus):
        lfr = {(at, "defect"): values for (at, region), values in focus.lfr.items()}
        return replace(focus, lfr=lfr, regions=plate)

    verdict = judge(on_plates(CNN), on_plates(VIT))
    assert verdict.outcome == judge(CNN, VIT).outcome
    assert "cnn looks more at the defect than vit" in verdict.statement
    told = [str(row["comparison"]) for row in verdict.numbers]
    assert any("DEFECT" in text for text in told)
    assert not any("KEY" in text for text in [*told, verdict.reason, *verdict.caveats])
