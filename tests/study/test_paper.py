"""The paper's numbers and ours beside them."""

import math

import pytest
from evidence_samples import cell, focus

from fer_lightning.hypotheses import paper
from fer_lightning.hypotheses.evidence import by_key
from fer_lightning.hypotheses.paper_table import focus_rows, gaps_and_gains


def test_the_papers_numbers_fit_together():
    change = paper.GAPS[1.0] - paper.GAPS[0.3]
    assert change == pytest.approx(paper.GAINS["cnn"] - paper.GAINS["vit"])
    key = next(row for row in paper.FOCUS if row.region == "key")
    assert key.cnn_mean / key.vit_mean == pytest.approx(paper.KEY_RATIO, abs=0.01)


def test_gaps_and_gains_beside_the_papers():
    accuracies = {("cnn", 0.3): 0.5, ("vit", 0.3): 0.4, ("cnn", 1.0): 0.7}
    cells = by_key(cell(m, f, 1, a) for (m, f), a in accuracies.items())
    rows = {row["quantity"]: row for row in gaps_and_gains(cells, "cnn", "vit", [0.3, 0.5], [1])}
    assert list(rows) == [
        "lead of cnn over vit at 30 %",
        "lead of cnn over vit at 50 %",
        "lead of cnn over vit at 60 %",
        "lead of cnn over vit at 100 %",
        "gain of cnn from 30 to 100 %",
        "gain of vit from 30 to 100 %",
    ]
    there = rows["lead of cnn over vit at 30 %"]
    assert (there["ours"], there["apart"]) == pytest.approx((10.0, 0.8))
    assert there["low"] < 10 < there["high"]
    assert rows["gain of cnn from 30 to 100 %"]["ours"] == pytest.approx(20)
    assert math.isnan(rows["lead of cnn over vit at 50 %"]["paper"])
    assert math.isnan(rows["gain of vit from 30 to 100 %"]["ours"])


def test_focus_table_in_the_papers_layout():
    found = by_key([focus("cnn", 0.5, zero=20), focus("vit", 0.0)])
    rows = focus_rows(found, "cnn", "vit", 0.3, [42], "matched")
    assert [row["region"] for row in rows] == ["eyes", "mouth", "eyebrow", "nose", "key", "all"]
    key = rows[4]
    assert (key["paper_cnn_mean"], key["paper_cohen_d"]) == (1.846, 3.345)
    assert (key["first_zero_maps"], key["excluded"], key["n"]) == (20, 20, 200)
    assert key["first_share_ge_1_zeros_in"] == pytest.approx(0.9 * key["first_share_ge_1"])
    expected = (key["first_mean"] - key["second_mean"]) / math.sqrt(
        (key["first_sd"] ** 2 + key["second_sd"] ** 2) / 2
    )
    assert key["d"] == pytest.approx(expected)
    assert key["log_low"] < key["log_difference"] < key["log_high"]
    assert key["p_bonferroni"] == pytest.approx(min(1, 6 * key["p"]))


def test_focus_table_without_maps_is_empty():
    assert focus_rows({}, "cnn", "vit", 0.3, [42]) == []
    nothing = by_key([focus("cnn", zero=200), focus("vit")])
    assert focus_rows(nothing, "cnn", "vit", 0.3, [42]) == []
