"""The page of a sweep, from fake runs: its numbers are those of the runs."""

import fake_sweep
import numpy as np
import pytest
from fake_sweep import RANDOM, run, sweep_of
from rich.console import Console
from scipy.stats import spearmanr

from fer_lightning.errors import UserError
from fer_lightning.execution.sweep.live import LiveSweep, chosen
from fer_lightning.execution.sweep.results import importances
from fer_lightning.execution.sweep.trial import SweepState, read_state
from fer_lightning.report.content import Table
from fer_lightning.report.sweep import compose_sweep, is_sweep, write_sweep_report

VARIED = {"lr": {"values": [0.1, 0.5, 0.9]}, "noise": {"values": [True, False]}}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("sweep")
    content = RANDOM | {"method": "grid", "parameters": VARIED}
    run(out, sweep_of(content, sleep=0.0), 6, parallel=2)
    return out


@pytest.fixture
def state(out):
    return read_state(out)


def table(report, name):
    return next(
        item
        for section in report.sections
        for item in section.items
        if isinstance(item, Table) and item.id == name
    )


def test_the_best_run_comes_first(state):
    report = compose_sweep(state)
    best = table(report, "best_runs")
    assert best.columns == ("run", "state", "val/acc", "lr", "noise", "epochs", "seconds")
    assert [row[2] for row in best.rows] == pytest.approx([0.36, 0.36, 0.2, 0.2, 0.04, 0.04])
    assert len(table(report, "all_runs").rows) == 6
    assert f"**{best.rows[0][0]}** has the highest" in report.sections[0].items[0].text


def test_importance_finds_what_decides(state):
    rows = table(compose_sweep(state), "importance").rows
    assert rows[0][0] == "lr"
    assert rows[0][1] > 0.9
    assert rows[0][3] == 1.0
    assert abs(rows[1][3]) < 0.01


def test_importance_against_known_answers():
    rng = np.random.default_rng(0)
    points = [{"a": a, "b": b, "c": "xy"[c], "same": 1} for a, b, c in
              zip(rng.random(60), rng.random(60), rng.integers(0, 2, 60), strict=True)]  # fmt: skip
    y = [point["a"] - 2 * (point["c"] == "y") for point in points]
    found = importances(points, y, ["a", "b", "c", "same"])
    assert [row.name for row in found.rows] == ["c", "a", "b"]
    assert sum(row.share for row in found.rows) == pytest.approx(1)
    expected = spearmanr([point["a"] for point in points], y).statistic
    assert found.rows[1].correlation == pytest.approx(expected)
    assert np.isnan(found.rows[0].correlation), "categories have no order"
    assert found.unseen > 0.8
    noise = importances(points, rng.random(60).tolist(), ["a", "b"])
    assert noise.unseen < 0.3, "and it says so"
    assert importances(points[:3], y[:3], ["a"]) is None
    assert importances(points, [1.0] * 60, ["a"]) is None


def test_everything_is_written_and_the_same_again(out, tmp_path):
    assert is_sweep(out)
    written = write_sweep_report(out)
    names = {path.relative_to(out).as_posix() for path in written}
    assert {"report.html", "report.md", "sweep.csv", "tables/best_runs.csv"} <= names
    assert {"figures/parallel_coordinates.pdf", "figures/importance.png"} <= names
    page = written[0].read_bytes()
    assert write_sweep_report(out)[0].read_bytes() == page
    assert write_sweep_report(out, tmp_path / "elsewhere")[0].read_bytes() == page


def test_nothing_to_report_on(tmp_path):
    SweepState(tmp_path, sweep_of(RANDOM)).save()
    with pytest.raises(UserError, match="expected at least one epoch to report on"):
        write_sweep_report(tmp_path)


def test_a_sweep_of_one_point_says_what_cannot_be_told(tmp_path):
    state = run(tmp_path, sweep_of(RANDOM | {"method": "grid", "parameters": {}}, lr=0.5), 1)
    assert len(state.trials) == 1
    words = (write_sweep_report(tmp_path)[0]).read_text()
    assert "No parameter has more than one value" in words
    assert "at least 4 runs" in words


def test_the_table_on_a_terminal(state):
    console = Console(width=120, record=True, force_terminal=True, color_system=None)
    with LiveSweep(state, 9, console) as live:
        live.watch(None)
    told = console.export_text()
    assert "6 done of 9 runs; best val/acc 0.3600 by s-00" in told
    assert "0.3600" in told.split("0.0400")[0], "the best first"
    state.trials[0].began = 1.0  # the worst, at work
    assert state.trials[0] in chosen(state, most=2)
    assert len(chosen(state, most=2)) == 2
    assert fake_sweep.FIT.is_file()
