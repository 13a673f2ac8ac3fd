"""The paper's numbers and ours beside them."""

import math

import pytest
from evidence_samples import cell

from fer_lightning.hypotheses import paper
from fer_lightning.hypotheses.evidence import by_key
from fer_lightning.hypotheses.paper import gaps_and_gains


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
