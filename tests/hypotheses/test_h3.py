"""Verdicts on transfer, and which hypotheses a study asks."""

import pytest
from evidence_samples import cell, focus

from fer_lightning.errors import UserError
from fer_lightning.hypotheses import judge_all, read_asked

SEEDS = (1, 2, 3)
MODELS = ("cnn", "vit", "cnn_pre", "vit_pre")
H1A = {"hypothesis": "H1a", "first": "cnn", "second": "vit"}
H3 = H1A | {
    "hypothesis": "H3",
    "first_pretrained": "cnn_pre",
    "second_pretrained": "vit_pre",
}


def cells(cnn_pre, vit_pre):
    accuracies = {"cnn": 0.5, "vit": 0.4, "cnn_pre": cnn_pre, "vit_pre": vit_pre}
    return [
        cell(m, seed=s, accuracy=a + 0.003 * (s - 2)) for m, a in accuracies.items() for s in SEEDS
    ]


@pytest.mark.parametrize(
    ("cnn_pre", "vit_pre", "outcome"),
    [(0.7, 0.45, "supported"), (0.55, 0.6, "not supported"), (0.6, 0.5, "undecided")],
)
def test_gains_are_compared(cnn_pre, vit_pre, outcome):
    (verdict,) = judge_all(read_asked([H3], MODELS), cells(cnn_pre, vit_pre), [], [0.3], SEEDS)
    assert verdict.outcome == outcome
    expected = 100 * ((cnn_pre - 0.5) - (vit_pre - 0.4))
    assert verdict.numbers[0]["estimate"] == pytest.approx(expected)


def test_one_seed_gives_no_verdict():
    found = [one for one in cells(0.55, 0.6) if one.seed == 1]
    (verdict,) = judge_all(read_asked([H3], MODELS), found, [], [0.3], [1])
    assert (verdict.outcome, verdict.kind) == ("undecided", "missing")
    assert "For these: gain of cnn minus gain of vit at 30 % -15.0 points" in verdict.reason


def test_without_pre_trained_cells_it_is_undecided():
    found = cells(0.7, 0.5)[:6]
    (verdict,) = judge_all(read_asked([H3], MODELS), found, [], [0.3], SEEDS)
    assert verdict.outcome == "undecided"
    assert verdict.missing[0] == "cnn_pre-30pct-seed1"


def test_all_that_a_study_asks():
    entries = [H1A, H1A | {"hypothesis": "H1b"}, H1A | {"hypothesis": "H2"}, H3]
    looks = [focus("cnn", 0.5, seed=1), focus("vit", 0.0, seed=1)]
    verdicts = judge_all(read_asked(entries, MODELS), cells(0.7, 0.45), looks, [0.3], SEEDS)
    assert [v.hypothesis for v in verdicts] == ["H1a", "H1a", "H1b", "H2", "H3"]
    assert all(v.rule and v.statement and v.reason for v in verdicts)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (H1A | {"hypothesis": "H1"}, "expected a hypothesis but got 'H1'; did you mean"),
        (
            {"hypothesis": "H1a", "first": "cnn"},
            "the other model as second but got none",
        ),
        (H1A | {"third": "x"}, "expected a known key but got 'third'"),
        (H1A | {"second": "vti"}, "got 'vti'; did you mean 'vit'"),
        (H1A | {"second": "cnn"}, "two different models in H1a but got 'cnn' twice"),
        (H3 | {"first_pretrained": ["cnn"]}, r"expected the first model, .* but got \['cnn'"),
        (H3 | {"first_pretrained": "cnn_per"}, "models of the study in H3 .*mean 'cnn_pre'"),
        (H3 | {"hypothesis": "H1a"}, "expected a known key but got 'first_pretrained'"),
        (H1A | {"hypothesis": "H3"}, "pre-trained, but got none; add 'first_pretrained'"),
        ("H1a", "expected a mapping as it but got str"),
    ],
)
def test_what_a_study_cannot_ask(entry, message):
    with pytest.raises(UserError, match=message):
        read_asked([entry], MODELS)
