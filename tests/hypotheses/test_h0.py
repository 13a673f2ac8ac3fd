"""Doses with known values: which method follows them is known before it is judged."""

import numpy as np
import pytest
from dose_runs import DOSES, dose_run
from scipy.stats import mannwhitneyu

from fer_lightning.hypotheses import judge_all, read_asked
from fer_lightning.hypotheses.h0_known_truth import _rank, separation, truth_table
from fer_lightning.hypotheses.truth import passes
from fer_lightning.runs.run import read_run

ASKED = read_asked([{"hypothesis": "H0", "models": ["cnn"]}], [])


@pytest.fixture
def runs(tmp_path):
    return [dose_run(tmp_path, "cnn", dose, seed) for dose in DOSES for seed in (42, 43)]


def test_separation_is_that_of_scipy():
    rng = np.random.default_rng(0)
    first, second = rng.normal(1, 1, 40), rng.normal(0, 1, 50)
    found = separation(first, second)
    assert found.estimate == pytest.approx(mannwhitneyu(first, second).statistic / (40 * 50))
    assert found.low < found.estimate < found.high <= 1


def test_the_interval_of_the_separation_covers_what_it_promises():
    rng = np.random.default_rng(0)
    truth = 0.9214  # of normals that lie 2 apart: P(z < 2 / sqrt(2))
    found = [separation(rng.normal(2, 1, 60), rng.normal(0, 1, 60)) for _ in range(400)]
    assert np.mean([one.low <= truth <= one.high for one in found]) > 0.92


def test_a_perfect_order_is_no_certainty():
    assert separation(np.arange(100.0, 200.0), np.arange(100.0)).low == pytest.approx(0.05**0.01)


def test_a_method_that_follows_the_dose_passes_and_another_does_not(runs):
    table = {(row.method, row.metric, row.seed): row for row in truth_table(runs)}
    good, bad = table["grad_cam", "auc", 42], table["occlusion", "auc", 42]
    assert (good.passed, good.auc) == (1, 1.0)
    assert (good.rank_p, good.rank_hiding) == pytest.approx((1.0, 1.0))
    assert good.n == 60
    assert bad.passed == 0
    assert table["grad_cam", "background", 42].passed == 1  # rises with the dose
    assert table["grad_cam", "lsi", 42].passed == 0  # nothing was hot


def test_verdicts_follow_the_table(runs):
    follows, does_not = judge_all(ASKED, [], [], [0.1], [42, 43], runs=runs)
    assert follows.outcome == "supported"
    assert follows.statement == "grad_cam tells where cnn must look"
    assert does_not.outcome == "not supported"


def test_a_pattern_inside_the_region_turns_the_direction(runs):
    table = {(row.method, row.metric, row.seed): row for row in truth_table(runs, "inside")}
    assert table["grad_cam", "auc", 42].auc == 0.0
    assert table["grad_cam", "auc", 42].rank_p == pytest.approx(-1.0)


def test_one_seed_or_a_missing_dose_decides_nothing(runs):
    alone = [run for run in runs if run.seed == 42]
    assert judge_all(ASKED, [], [], [0.1], [42], runs=alone)[0].outcome == "undecided"
    verdict = judge_all(ASKED, [], [], [0.1], [42, 43], runs=runs[:-1])[0]
    assert (verdict.outcome, verdict.missing) == ("undecided", ["cnn at p = 1.0, seed 43"])
    nothing = judge_all(ASKED, [], [], [0.1], [42, 43])[0]
    assert nothing.outcome == "undecided"


def test_a_map_without_heat_tells_nothing(tmp_path):
    runs = [dose_run(tmp_path, "cnn", dose, 42) for dose in DOSES]
    for run in runs:
        file = run.path / "focus_samples.csv"
        lines = file.read_text().splitlines()
        empty = [
            line if "occlusion" in line else ",".join([*line.split(",")[:3], *[""] * 5])
            for line in lines[1:]
        ]
        file.write_text("\n".join([lines[0], *empty]) + "\n")
    rows = {(r.method, r.metric): r for r in truth_table([read_run(run.path) for run in runs])}
    assert rows["grad_cam", "auc"].auc == 0.5
    assert ("grad_cam", "background") not in rows


def test_a_rank_correlation_of_exactly_the_bound_passes():
    found = _rank([1.0, 2.0, 4.0, 3.0, 5.0], [0.0, 0.25, 0.5, 0.75, 1.0])
    assert found == 0.9
    found = _rank([2.0, 1.0, 4.0, 3.0, 5.0], [0.0, 0.25, 0.5, 0.75, 1.0])
    assert (found, passes(0.95, found)) == (0.8, True)
