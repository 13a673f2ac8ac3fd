"""Verdicts on focus: each outcome, each kind of undecided, and each thing that takes one back."""

from dataclasses import replace

import numpy as np
import pytest
from evidence_samples import focus as looks
from evidence_samples import truth

from fer_lightning.data.regions import Regions
from fer_lightning.hypotheses import judge_all, read_asked
from fer_lightning.hypotheses.evidence import PER_IMAGE

ASKED = read_asked([{"hypothesis": "H2", "first": "cnn", "second": "vit"}], ["cnn", "vit"])
TRUTH = truth("occlusion", "rollout", failed=["grad_cam", "smooth_grad"])


SEEDS = (42, 43, 44)


def again(found, seeds=SEEDS):
    """Train each again: maps that are a little more, or less, on the region."""
    shifts = dict(zip(seeds, (0.0, 0.004, -0.004), strict=False))
    return [
        replace(one, seed=seed, mass={key: v + shift for key, v in one.mass.items()})
        for one in found
        for seed, shift in shifts.items()
    ]


def judge(*found, seeds=SEEDS, fractions=(0.3,), truth=TRUTH):
    """Judge maps of seed 42, trained again, or of the given seeds as they are."""
    made = again(found) if seeds is SEEDS else found
    return judge_all(ASKED, [], made, fractions, seeds, truth=truth)[0]


def by(focus, method="occlusion", **other):
    return replace(focus, method=method, **other)


def pair(first=0.5, second=0.0, method="grad_cam", **other):
    """Two models under a method; logs as in `looks`, other fields for both."""
    cnn, vit = looks("cnn", first), looks("vit", second, excess=0.3)
    return [by(one, method, **other) for one in (cnn, vit)]


def rows(verdict, kind, method=None):
    found = [row for row in verdict.numbers if row["kind"] == kind]
    return [row for row in found if method in (None, row.get("method"))]


CNN, VIT = pair()
BELIEVED = pair(method="occlusion")
TURNED = [by(looks("cnn", 0.0, excess=0.3)), by(looks("vit", 0.5, excess=1.0))]


def test_grad_cam_and_a_method_that_passed_support_it():
    verdict = judge(CNN, VIT, *BELIEVED)
    assert (verdict.outcome, verdict.kind) == ("supported", "")
    assert verdict.reason.startswith("occlusion decided (passed the truth test on drawn faces): ")
    assert "Grad-CAM agrees" in verdict.reason
    tests = rows(verdict, "test")
    assert [row["method"] for row in tests] == ["grad_cam", "occlusion"]
    assert all(row["level"] == 1 - 0.005 / 2 for row in tests)
    assert all(row["for"] == "the architecture" for row in tests)
    beside = rows(verdict, "trainings")
    assert [row["method"] for row in beside] == ["grad_cam", "occlusion"]
    assert all(row["for"] == "these trainings" for row in beside)
    assert all(row["resamples"] == 100 * 2 / 0.005 for row in beside)
    assert tests[0]["estimate"] == pytest.approx(0.2, abs=0.04)
    assert tests[0]["first"] - tests[0]["second"] == pytest.approx(tests[0]["estimate"])
    assert tests[0]["p_holm"] <= tests[0]["p_bonferroni"] < 0.005
    for word in ("arbiter", "truth test", "mass ratio", "untrained twins", "0.1"):
        assert word in verdict.rule


def test_the_sensitivity_stands_beside_without_a_p():
    found = {
        row["comparison"]: row for row in rows(judge(CNN, VIT, *BELIEVED), "check", "grad_cam")
    }
    for name in (
        "mass ratio of KEY, matched, zero maps left out",
        "mass ratio of KEY, each map's own grid, zero maps as 1",
        "mask AUC of KEY, matched, zero maps as 0.5",
        "mask AUC of KEY, matched, zero maps left out",
        "log LFR of KEY, matched, floor 1e-08, zero maps left out",
        "log LFR of KEY, matched, floor 0.0001, zero maps left out",
        "log LFR of KEY, matched, floor 0.01, zero maps left out",
        "share LFR >= 1 of KEY, matched, zero maps as 0",
        "LSI of KEY, matched, zero maps as 0",
    ):
        assert "p" not in found[name]
        assert found[name]["low"] < found[name]["estimate"] < found[name]["high"]
    log = found["log LFR of KEY, matched, floor 0.01, zero maps left out"]
    assert log["estimate"] == pytest.approx(0.5, abs=0.1)
    assert not any("template" in name for name in found)


def test_three_maps_and_a_constant_do_not_decide():
    # three maps of 200 without heat inside: log LFR -18.4 with one floor, -4.6 with another
    lfr = {key: values.copy() for key, values in CNN.lfr.items()}
    lfr["matched", "key"][:3] = 0.0
    verdict = judge(replace(CNN, lfr=lfr), VIT, *BELIEVED)
    assert verdict.outcome == "supported"
    low = {
        row["comparison"]: row["low"]
        for row in rows(verdict, "check", "grad_cam")
        if row["comparison"].startswith("log LFR")
    }
    assert [value > 0 for value in low.values()] == [False, True, True]


def test_a_passed_method_decides_against_grad_cam():
    verdict = judge(looks("cnn", 0.5, excess=0.3), looks("vit", 0.0, excess=1.0), *TURNED)
    assert (verdict.outcome, verdict.kind) == ("not supported", "")
    assert verdict.reason.startswith("occlusion decided")


def test_grad_cam_alone_against_it_decides_nothing():
    verdict = judge(*pair(0.0, 0.5), *BELIEVED)
    assert (verdict.outcome, verdict.kind) == ("undecided", "contradiction")
    assert "but Grad-CAM the opposite" in verdict.reason


def test_passed_methods_that_disagree_are_undecided():
    verdict = judge(CNN, VIT, *BELIEVED, *(by(one, "rollout") for one in TURNED))
    assert (verdict.outcome, verdict.kind) == ("undecided", "contradiction")
    assert "occlusion and rollout passed the truth test and disagree" in verdict.reason
    assert rows(verdict, "test")[0]["level"] == 1 - 0.005 / 3  # three methods in the family


def test_grad_cam_that_passed_itself_decides_alone():
    verdict = judge(CNN, VIT, truth=truth("grad_cam"))
    assert verdict.outcome == "supported"
    assert verdict.reason.startswith("Grad-CAM decided")
    assert [row["level"] for row in rows(verdict, "test")] == [0.995]


def test_a_method_that_failed_or_was_never_tested_decides_nothing():
    others = [*pair(method="smooth_grad"), *pair(method="new")]
    verdict = judge(CNN, VIT, *others)
    assert (verdict.outcome, verdict.kind) == ("undecided", "missing")
    assert "a method that passed the truth test for cnn and vit" in verdict.reason
    assert "Grad-CAM did not pass, smooth_grad did not pass, new was never tested" in verdict.reason
    (row,) = rows(verdict, "check", "new")
    assert "p" not in row
    assert len(rows(verdict, "test")) == 1
    assert "new was never tested in the truth test for cnn and vit" in " ".join(verdict.caveats)


def test_truth_is_asked_for_the_architecture_and_the_metric():
    named = [replace(one, architecture="apvit") for one in (CNN, VIT)]
    assert judge(*named, *BELIEVED).kind == "missing"
    assert judge(CNN, VIT, *BELIEVED, truth=truth("occlusion", metric="lfr")).kind == "missing"
    of_study = {"cnn": "fair_cnn", "vit": "fair_vit"}
    asked = [{"hypothesis": "H2", "first": "fair_cnn", "second": "fair_vit"}]
    found = [
        replace(one, model=of_study[one.model], architecture=one.model)
        for one in (CNN, VIT, *BELIEVED)
    ]
    asked = read_asked(asked, [*of_study.values()])
    assert judge_all(asked, [], again(found), [0.3], SEEDS, truth=TRUTH)[0].outcome == "supported"


@pytest.mark.parametrize(
    ("where", "told"), [(np.full(200, "template"), "a template's"), (None, "not recorded")]
)
def test_a_template_decides_nothing(where, told):
    verdict = judge(*(replace(one, regions_from=where) for one in (CNN, VIT, *BELIEVED)))
    assert (verdict.outcome, verdict.kind) == ("undecided", "missing")
    assert told in verdict.reason
    assert "Measure again with `fer-lightning focus`. So far, Grad-CAM +0.2" in verdict.reason


@pytest.mark.parametrize("where", PER_IMAGE)
def test_images_with_a_templates_regions_are_left_out(where):
    mixed = np.array(["template"] * 20 + [where] * 180)
    mass = {key: np.where(mixed == "template", 0.0, values) for key, values in CNN.mass.items()}
    found = [replace(one, regions_from=mixed) for one in (CNN, VIT, *BELIEVED)]
    verdict = judge(replace(found[0], mass=mass), *found[1:])
    assert verdict.outcome == "supported"
    assert any("60 of 600 pairs are left out" in caveat for caveat in verdict.caveats)
    own, (every,) = (
        rows(verdict, "test", "grad_cam")[0],
        [r for r in rows(verdict, "check", "grad_cam") if "also images" in r["comparison"]],
    )
    assert own["estimate"] == pytest.approx(0.2, abs=0.04)
    assert every["estimate"] < own["estimate"] - 0.06


def test_no_power_says_which_effect_could_have_been_seen():
    few = [looks(m, log, n=12, excess=e, method=method)
           for m, log, e in (("cnn", 0.1, 1.0), ("vit", 0.0, 0.3))
           for method in ("grad_cam", "occlusion")]  # fmt: skip
    few = [replace(one, regions_from=np.full(12, "exact")) for one in few]
    verdict = judge(*few)
    assert (verdict.outcome, verdict.kind) == ("undecided", "no power")
    row = rows(verdict, "test", "occlusion")[0]
    size = float(verdict.reason.split("No power: here no difference under ")[1].split()[0])
    assert size == pytest.approx((row["high"] - row["low"]) / 2, abs=0.001)
    assert size > 0.1


def test_no_effect_is_told_apart_from_no_power():
    found = [looks(m, 0.0, n=2000, method=method)
             for m in ("cnn", "vit") for method in ("grad_cam", "occlusion")]  # fmt: skip
    verdict = judge(*found)
    assert (verdict.outcome, verdict.kind) == ("undecided", "no effect")
    assert "within +-0.1" in verdict.reason


def test_grad_cam_that_is_silent_leaves_it_undecided():
    verdict = judge(*pair(0.0, 0.0), *BELIEVED)
    assert verdict.outcome == "undecided"
    assert verdict.kind in ("no power", "no effect")
    assert "but Grad-CAM does not" in verdict.reason


# --- The gates, asked of both answers


@pytest.mark.parametrize(
    ("cnn", "vit"), [((0.5, 0.0), (0.0, 1.0)), ((0.0, 1.0), (0.5, 0.0))], ids=["for", "against"]
)
def test_an_arbiter_that_contradicts_takes_an_answer_back(cnn, vit):
    found = [
        looks(model, log, excess=excess, method=method)
        for method in ("grad_cam", "occlusion")
        for model, (log, excess) in (("cnn", cnn), ("vit", vit))
    ]
    verdict = judge(*found)
    assert (verdict.outcome, verdict.kind) == ("undecided", "contradiction")
    assert "hiding the region contradicts it" in verdict.reason
    assert len(rows(verdict, "arbiter")) == 6  # two fills; each model and their difference


def test_larger_logits_are_no_larger_dependence():
    # ten times the logits, the same answers: no contradiction
    scaled = {name: 10 * values for name, values in CNN.excess.items()}
    assert judge(CNN, replace(VIT, excess=scaled), *BELIEVED).outcome == "supported"


@pytest.mark.parametrize("twins", [1.4, 1.2])  # above the model, and within its interval
@pytest.mark.parametrize("method", ["grad_cam", "occlusion"])
def test_untrained_twins_that_look_as_much_take_support_back(twins, method):
    found = [
        replace(one, nulls={"untrained 0": twins}) if one.method == method else one
        for one in (CNN, VIT, *BELIEVED)
    ]
    verdict = judge(*found)
    assert (verdict.outcome, verdict.kind) == ("undecided", "contradiction")
    assert "cnn is not above its own untrained twins" in verdict.reason


def test_twins_take_the_opposite_back_too():
    turned = [replace(one, nulls={"untrained 0": 1.4}) for one in TURNED]
    verdict = judge(looks("cnn", 0.5, excess=0.3), looks("vit", 0.0, excess=1.0), *turned)
    assert (verdict.outcome, verdict.kind) == ("undecided", "contradiction")
    assert "vit is not above its own untrained twins" in verdict.reason


def test_a_blob_that_reaches_it_is_told():
    verdict = judge(CNN, VIT, *BELIEVED)  # gaussian_0.25 has 1.2 as well
    assert any("blob of heat at the image's centre" in caveat for caveat in verdict.caveats)


def test_zero_maps_count_as_telling_nothing():
    # half of the ViT's maps are empty, the rest are far below: 1 pulls it up, the side stays
    found = [by(looks("vit", -1.0, zero=100, excess=0.3), m) for m in ("grad_cam", "occlusion")]
    verdict = judge(CNN, BELIEVED[0], *found)
    assert verdict.outcome == "supported"
    assert "300 of 600 Grad-CAM maps of vit are zero and count as 1." in verdict.caveats
    row = rows(verdict, "test", "grad_cam")[0]
    assert row["second"] == pytest.approx((1 + 0.6) / 2, abs=0.02)
    assert row["excluded"] == 0
    (out,) = (r for r in rows(verdict, "check", "grad_cam") if "left out" in r["comparison"]
              and r["comparison"].startswith("mass ratio"))  # fmt: skip
    assert out["excluded"] == 300
    assert out["estimate"] > row["estimate"] + 0.1


@pytest.mark.parametrize("turn", [False, True], ids=["for", "against"])
def test_an_answer_that_hangs_on_zero_maps_is_taken_back(turn):
    # the one that has maps looks as much as the other; most of the other's maps are empty
    full, empty = ("vit", "cnn") if turn else ("cnn", "vit")
    found = [
        by(one, method)
        for method in ("grad_cam", "occlusion")
        for one in (looks(full, 0.5), looks(empty, 0.5, zero=150, excess=0.3))
    ]
    verdict = judge(*found)
    assert (verdict.outcome, verdict.kind) == ("undecided", "contradiction")
    assert "it is another with zero maps left out" in verdict.reason


def test_a_model_with_zero_maps_only():
    found = [by(looks("vit", 0.5, zero=200, excess=0.3), m) for m in ("grad_cam", "occlusion")]
    verdict = judge(CNN, BELIEVED[0], *found)
    assert (verdict.outcome, verdict.kind) == ("undecided", "contradiction")


@pytest.mark.parametrize(
    ("without", "told"),
    [({"excess": {}}, "nobody asked the arbiter"), ({"nulls": {}}, "no untrained twins")],
)
def test_missing_controls_take_an_answer_back(without, told):
    verdict = judge(*(replace(one, **without) for one in (CNN, VIT, *BELIEVED)))
    assert (verdict.outcome, verdict.kind) == ("undecided", "missing")
    assert told in verdict.reason
    turned = [looks("cnn", 0.5, excess=0.3), looks("vit", 0.0, excess=1.0), *TURNED]
    verdict = judge(*(replace(one, **without) for one in turned))
    assert (verdict.outcome, verdict.kind) == ("undecided", "missing")
    assert told in verdict.reason


def test_the_arbiter_is_asked_once_whatever_the_method():
    found = [replace(one, excess={}) for one in (CNN, VIT)]
    assert judge(*found, *BELIEVED).outcome == "supported"


# --- What is missing


def test_missing_cells_are_named():
    more = looks("cnn", 0.5, seed=43)
    verdict = judge(CNN, VIT, more, *BELIEVED, seeds=(42, 43))
    assert (verdict.outcome, verdict.kind) == ("undecided", "missing")
    assert verdict.missing == ["vit-30pct-seed43"]
    assert "occlusion, which passed the truth test, for all of these cells" in verdict.reason
    nothing = judge()
    assert (nothing.outcome, nothing.kind) == ("undecided", "missing")
    assert nothing.missing == [f"{m}-30pct-seed{s}" for m in ("cnn", "vit") for s in SEEDS]
    assert nothing.reason == f"Missing: {', '.join(nothing.missing)}."


def test_tables_of_before_lack_the_measure_and_it_is_told():
    old = [replace(one, auc={}, mass={}, excess={}, regions_from=None) for one in (CNN, VIT)]
    verdict = judge(*old)
    assert (verdict.outcome, verdict.kind, verdict.missing) == ("undecided", "missing", [])
    assert "measured before it was kept" in verdict.reason
    assert "Measure again with `fer-lightning focus`" in verdict.reason
    assert any("log LFR" in row["comparison"] for row in rows(verdict, "check"))
    assert rows(verdict, "test") == []


def test_maps_at_their_own_resolution_alone_are_undecided():
    native = {key: values for key, values in CNN.mass.items() if key[0] == "native"}
    verdict = judge(replace(CNN, mass=native), VIT, *BELIEVED)
    assert (verdict.outcome, verdict.kind) == ("undecided", "missing")
    assert "at the maps' own grids only" in verdict.reason


def test_a_difference_by_resolution_alone_is_told():
    low = looks("cnn", 0.0)
    mass = {key: low.mass[key] if key[0] == "matched" else CNN.mass[key] for key in CNN.mass}
    verdict = judge(replace(CNN, mass=mass), VIT, *BELIEVED)
    assert verdict.outcome == "undecided"
    assert any("resolution decides it" in caveat for caveat in verdict.caveats)


# --- Seeds, fractions, other data


def test_several_seeds_flip_images_together():
    seeds = (1, 2, 3)
    found = [
        by(looks(model, log, seed=seed, excess=excess), method)
        for model, log, excess in (("cnn", 0.5, 1.0), ("vit", 0.0, 0.3))
        for seed in seeds
        for method in ("grad_cam", "occlusion")
    ]
    verdict = judge(*found, seeds=seeds)
    assert verdict.outcome == "supported"
    assert len(rows(verdict, "seed", "grad_cam")) == len(rows(verdict, "seed", "occlusion")) == 3
    assert "with 3 trainings of each model that spread as these do" in verdict.caveats[0]
    for row, beside in zip(rows(verdict, "test"), rows(verdict, "trainings"), strict=True):
        assert row["low"] < beside["low"] < beside["high"] < row["high"]


def test_one_training_of_each_gives_no_verdict():
    verdict = judge(CNN, VIT, *BELIEVED, seeds=(42,))
    assert (verdict.outcome, verdict.kind, verdict.missing) == ("undecided", "missing", [])
    assert "One training of each model says nothing" in verdict.reason
    assert "Train at least two seeds" in verdict.reason
    assert all(row["p_bonferroni"] == 1 for row in rows(verdict, "test"))
    assert all(row["p_bonferroni"] < 0.005 for row in rows(verdict, "trainings"))
    assert "Grad-CAM +0.2" in verdict.reason
    checks = rows(verdict, "check", "grad_cam")
    assert {row["for"] for row in checks} == {"this training"}
    assert all(np.isfinite(row["low"]) for row in checks)


def test_fractions_and_methods_are_one_family():
    found = [
        replace(one, fraction=fraction) for one in (CNN, VIT, *BELIEVED) for fraction in (0.3, 1.0)
    ]
    verdicts = judge_all(ASKED, [], again(found), [0.3, 0.6, 1.0], SEEDS, truth=TRUTH)
    assert [one.outcome for one in verdicts] == ["supported", "undecided", "supported"]
    assert verdicts[1].kind == "missing"
    row = rows(verdicts[0], "test")[0]
    assert row["level"] == 1 - 0.005 / 6  # two methods at three planned fractions
    assert row["p_bonferroni"] == pytest.approx(6 * row["p"])
    assert rows(verdicts[0], "trainings")[0]["resamples"] == 120_000


def test_the_verdict_speaks_of_the_data_sets_own_region():
    plate = Regions("plate", ("defect", "print"), {}, "defect", "plate")

    def on_plates(focus):
        fields = {
            name: {(at, "defect"): values for (at, _), values in getattr(focus, name).items()}
            for name in ("lfr", "auc", "mass")
        }
        return replace(focus, **fields, regions=plate, regions_from=np.full(200, "label maps"))

    verdict = judge(*map(on_plates, (CNN, VIT, *BELIEVED)))
    assert verdict.outcome == "supported"
    assert "cnn looks more at the defect than vit" in verdict.statement
    told = [str(row["comparison"]) for row in verdict.numbers]
    assert any("DEFECT" in text for text in told)
    assert not any("KEY" in text for text in [*told, verdict.reason, *verdict.caveats])
    turned = [looks("cnn", 0.5, excess=0.3), looks("vit", 0.0, excess=1.0), *TURNED]
    assert judge(*map(on_plates, turned)).outcome == "not supported"
