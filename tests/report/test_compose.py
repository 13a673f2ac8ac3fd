"""What a report says of folders whose numbers are known."""

import numpy as np
import pytest
from report_reading import items, table, words
from report_runs import write_run

from fer_lightning.report.compose import compose
from fer_lightning.report.content import Picture, Scatter, Table, Text
from fer_lightning.runs.collection import collect

SECTIONS = ["summary", "data", "accuracy", "learning", "generalisation", "focus", "gallery"]
SECTIONS += ["embedding", "confusion", "calibration", "cost", "verdicts", "reproduce"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Two models at two fractions with two seeds."""
    root = tmp_path_factory.mktemp("study")
    for model in ("cnn", "vit"):
        for fraction in (0.3, 1.0):
            for seed in (1, 2):
                write_run(root, model, fraction, seed)
    return collect([root])


@pytest.fixture(scope="module")
def report(study):
    return compose(study)


def test_all_sections_in_their_order(report):
    assert [s.id for s in report.sections] == SECTIONS
    assert "left out:" not in words(report)


def test_ids_are_unique_and_rows_fit_their_columns(report):
    ids = [item.id for item in items(report, Table | Picture | Scatter)]
    assert len(ids) == len(set(ids))
    for one in items(report, Table):
        assert one.rows
        assert {len(row) for row in one.rows} == {len(one.columns)}
        for row in one.rows:
            assert not any(isinstance(cell, float) and not np.isfinite(cell) for cell in row)


def test_pictures_say_their_main_numbers_in_words(report):
    assert all(any(c.isdigit() for c in picture.alt) for picture in items(report, Picture))
    assert {p.id for p in items(report, Picture) if p.faces} == {"gallery"}


def test_verdicts_carry_outcome_reason_and_rule(report):
    verdicts = table(report, "verdicts")
    assert {row[0] for row in verdicts.rows} == {"H1a", "H1b", "H2"}
    assert {row[2] for row in verdicts.rows} <= {"supported", "not supported", "undecided"}
    for row in verdicts.rows:  # H1a at every fraction has no kind of its own
        assert not row[3] or row[2] == "undecided"
    assert next(row for row in verdicts.rows if row[0] == "H2")[3] == "missing"
    assert "method" in table(report, "verdict_numbers").columns
    told = [text for text in items(report, Text) if text.kind == "verdict"]
    assert len(told) == len(verdicts.rows)
    assert {row[0] for row in table(report, "rules").rows} == {"H1a", "H1b", "H2"}


def test_accuracies_are_those_of_the_predictions(study, report):
    rows = {row[:2]: row for row in table(report, "accuracy").rows}
    runs = study.select("cnn", 0.3)
    each = [float(run.predictions.correct.mean()) for run in runs]
    row = rows["cnn", "30 %"]
    assert row[2] == 2
    assert row[3] == pytest.approx(np.mean(each), abs=1e-4)
    assert row[4] == pytest.approx(np.std(each, ddof=1), abs=1e-4)
    assert row[5] < row[3] < row[6]
    assert row[7] == f"1: {each[0]:.4f}, 2: {each[1]:.4f}"


def test_leads_stand_beside_the_papers(study, report):
    rows = {row[0]: row for row in table(report, "gaps_and_gains").rows}
    lead = rows["lead of cnn over vit at 30 %"]
    acc = {
        model: np.mean([run.predictions.correct.mean() for run in study.select(model, 0.3)])
        for model in ("cnn", "vit")
    }
    assert lead[1] == pytest.approx(100 * (acc["cnn"] - acc["vit"]), abs=0.01)
    assert lead[4] == 9.2
    assert rows["lead of cnn over vit at 60 %"][1] is None
    assert rows["gain of vit from 30 to 100 %"][4] == 8.4


def test_epochs_are_counted_until_an_accuracy_is_reached(report):
    found = table(report, "epochs_to_reach")
    row = next(r for r in found.rows if r[:3] == ("cnn", "100 %", 1))
    # 1/7 to 1/7 + 0.6 in four epochs: 0.143, 0.343, 0.543, 0.743
    assert row[6:8] == (None, "too short to tell")
    assert dict(zip(found.columns[8:], row[8:], strict=True)) == {
        "to 0.2": 2,
        "to 0.3": 2,
        "to 0.4": 3,
        "to 0.5": 3,
        "to 0.6": 4,
        "to 0.7": 4,
    }


def test_focus_table_has_the_papers_layout_and_numbers(study, report):
    found = table(report, "focus")
    regions = list(dict.fromkeys(row[0] for row in found.rows))
    assert regions == ["eyes", "mouth", "eyebrow", "nose", "key", "all"]
    key = {row[1]: row for row in found.rows if row[0] == "key"}
    assert key["paper"][2:4] == ("1.846 ± 0.358", "0.861 ± 0.213")
    assert key["paper"][-1] == 3.345
    values = [
        run.focus_samples.query("resolution == 'native'")["lfr_key"].to_numpy()
        for run in study.select("vit", 1.0)
    ]
    native = key["ours, own grid"]
    mean = np.mean([np.nanmean(v) for v in values])
    assert native[3].startswith(f"{mean:.3f} ±")
    assert native[5] == pytest.approx(np.mean([np.nanmedian(v) for v in values]), abs=1e-3)


def test_zero_maps_are_counted_under_both_conventions(study, report):
    found = table(report, "zero_maps")
    row = next(r for r in found.rows if r[:2] == ("vit", "native"))
    values = [
        run.focus_samples.query("resolution == 'native'")["lfr_key"].to_numpy()
        for run in study.select("vit", 1.0)
    ]
    assert row[3] == np.mean([np.isnan(v).sum() for v in values]) > 0
    assert row[5] == pytest.approx(np.mean([np.nan_to_num(v).mean() for v in values]), abs=1e-3)
    assert row[5] < row[4]


def test_null_maps_and_the_arbiter_are_there(report):
    nulls = table(report, "null_maps")
    assert {row[4] for row in nulls.rows} == {"the model's", "uniform", "untrained"}
    arbiter = table(report, "hiding")
    row = next(r for r in arbiter.rows if r[0] == "cnn")
    assert row[5:8] == (0.2, 0.05, 0.08)


def test_tsne_points_know_their_faces_answers_and_maps(study, report):
    (scatter,) = items(report, Scatter)
    assert [points.name for points in scatter.models] == ["cnn-100pct-seed1", "vit-100pct-seed1"]
    points = scatter.models[0]
    answers = study.run("cnn", 1.0, 1).predictions
    at = np.searchsorted(answers.row, points.row)
    np.testing.assert_array_equal(points.predicted, answers.predicted[at])
    np.testing.assert_allclose(points.confidence, answers.probabilities.max(1)[at], rtol=1e-5)
    assert set(points.row) <= set(scatter.face_rows.tolist())
    assert scatter.faces.shape[1:] == (12, 12)
    assert set(points.map_rows) == set(points.row)


def test_costs_are_in_the_units_their_columns_name(report):
    row = dict(zip(table(report, "cost").columns, table(report, "cost").rows[0], strict=True))
    assert row["parameters"] == 3000
    assert row["MFLOPs an image"] == 4.0
    assert row["peak memory, MB"] == 1024
    assert row["training, minutes"] == 1.5


def test_no_machine_path_is_told(report):
    cells = [str(cell) for one in items(report, Table) for row in one.rows for cell in row]
    assert not any("/home/me" in cell for cell in cells)
    assert any("--data.data_dir=fer.zip" in cell for cell in cells)
