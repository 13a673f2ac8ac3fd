"""Verdicts on recipes that were tuned alike, and on priors that close what is left."""

from types import SimpleNamespace

import pytest
from evidence_samples import cell

from fer_lightning.errors import UserError
from fer_lightning.hypotheses import judge_all, read_asked

SEEDS = (1, 2, 3, 4, 5)
H4 = {
    "hypothesis": "H4",
    "first": "cnn",
    "second": "vit",
    "first_fair": "cnn_fair",
    "second_fair": "vit_fair",
}
H5 = {"hypothesis": "H5", "first": "cnn", "second": "vit", "models": ["hybrid", "swin"]}


def judged(entry, accuracies, fractions=(0.3,), runs=()):
    cells = [
        cell(model, fraction, seed, accuracy, n=800)
        for model, accuracy in accuracies.items()
        for fraction in fractions
        for seed in SEEDS
    ]
    models = ("cnn", "vit", "cnn_fair", "vit_fair", "hybrid", "swin")
    return judge_all(read_asked([entry], models), cells, [], fractions, SEEDS, runs=runs)


@pytest.mark.parametrize(
    ("vit_fair", "outcome"),
    [(0.55, "supported"), (0.35, "not supported"), (0.45, "undecided")],
)
def test_the_leads_of_two_recipes_are_compared(vit_fair, outcome):
    known = {"cnn": 0.5, "vit": 0.4, "cnn_fair": 0.55, "vit_fair": vit_fair}
    (verdict,) = judged(H4, known)
    assert verdict.outcome == outcome
    assert verdict.numbers[0]["estimate"] == pytest.approx(100 * (0.1 - (0.55 - vit_fair)))
    assert "by the paper's recipe is larger than" in verdict.statement
    assert "as many runs of a sweep" in verdict.caveats[-1]


def test_h4_is_a_family_over_fractions_and_names_what_is_missing():
    known = {"cnn": 0.5, "vit": 0.4, "cnn_fair": 0.55}
    small, large = judged(H4, known, (1.0, 0.3))
    assert "at 30 %" in small.statement
    assert "at 100 %" in large.statement
    assert (small.outcome, small.kind) == ("undecided", "missing")
    assert small.missing == [f"vit_fair-30pct-seed{seed}" for seed in SEEDS]


def test_half_of_the_gap_is_what_counts():
    hybrid, swin = judged(H5, {"cnn": 0.6, "vit": 0.4, "hybrid": 0.58, "swin": 0.42})
    assert (hybrid.outcome, swin.outcome) == ("supported", "not supported")
    row = hybrid.numbers[0]
    assert row["comparison"] == "twice hybrid minus cnn minus vit at 30 %"
    assert row["estimate"] == pytest.approx(100 * (2 * 0.58 - 0.6 - 0.4))
    gap = hybrid.numbers[-1]
    assert (gap["kind"], gap["estimate"]) == ("check", pytest.approx(20))
    assert "asked only where there is a gap" in hybrid.rule


def test_a_model_at_half_of_the_gap_is_undecided_for_lack_of_power():
    (verdict,) = judged(H5 | {"models": ["swin"]}, {"cnn": 0.6, "vit": 0.4, "swin": 0.5})
    assert (verdict.outcome, verdict.kind) == ("undecided", "no power")


@pytest.mark.parametrize("vit", [0.5, 0.55])
def test_without_a_gap_there_is_nothing_to_close(vit):
    (verdict,) = judged(H5 | {"models": ["hybrid"]}, {"cnn": 0.5, "vit": vit, "hybrid": 0.7})
    assert (verdict.outcome, verdict.kind) == ("undecided", "no effect")
    assert verdict.reason.startswith("No gap to close: gap between cnn and vit at 30 %")


def test_what_is_missing_stays_the_reason():
    (verdict,) = judged(H5 | {"models": ["hybrid"]}, {"cnn": 0.5, "vit": 0.5})
    assert (verdict.outcome, verdict.kind) == ("undecided", "missing")
    assert verdict.missing[0] == "hybrid-30pct-seed1"


def test_sizes_that_differ_are_named():
    sizes = {"cnn": 1_278_631, "vit": 807_431, "hybrid": 807_351, "swin": 2_000_000}
    runs = [SimpleNamespace(model=m, summary={"parameters": n}) for m, n in sizes.items()]
    known = {"cnn": 0.6, "vit": 0.4, "hybrid": 0.58, "swin": 0.58}
    hybrid, swin = judged(H5, known, runs=runs)
    assert not any("equal size" in text for text in hybrid.caveats)
    assert "Not of equal size: swin has 2,000,000 parameters, vit 807,431." in swin.caveats


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (H5 | {"models": []}, "expected models with a locality prior"),
        (H5 | {"models": ["hybrid", "hybrid"]}, "expected different models with a locality prior"),
        (H5 | {"models": ["hybird"]}, "did you mean 'hybrid'"),
        (H4 | {"first_fair": "x"}, "expected models of the study in H4"),
    ],
)
def test_what_a_study_cannot_ask(entry, message):
    with pytest.raises(UserError, match=message):
        judged(entry, {})
