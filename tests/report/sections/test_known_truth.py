"""The section on known truth: from runs of doses to the table that H2 reads."""

import csv

import pytest
from dose_runs import DOSES, dose_run

from fer_lightning.errors import UserError
from fer_lightning.hypotheses.truth import read_truth
from fer_lightning.report.compose import compose
from fer_lightning.report.content import Picture, Table
from fer_lightning.report.sections.known_truth import known_truth
from fer_lightning.report.sections.registry import Material
from fer_lightning.runs.collection import collect


@pytest.fixture
def collection(tmp_path):
    for dose in DOSES:
        for seed in (42, 43):
            dose_run(tmp_path, "cnn", dose, seed)
    return collect([tmp_path])


def test_runs_of_all_doses_are_one_collection_though_their_images_differ(collection, tmp_path):
    assert len(collection.runs) == 10
    other = dose_run(tmp_path, "vit", 1.0, 42)
    summary = other.path / "summary.json"
    summary.write_text(summary.read_text().replace(f"{100:016d}", "e" * 16))
    with pytest.raises(UserError, match="one data set"):
        collect([tmp_path])


def test_the_table_is_what_h2_reads(collection, tmp_path):
    items = known_truth(Material(collection))
    tables = {item.id: item for item in items if isinstance(item, Table)}
    path = tmp_path / "known_truth.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([tables["known_truth"].columns, *tables["known_truth"].rows])
    truth = read_truth(path)
    assert truth.passed("cnn", "grad_cam", "auc") is True
    assert truth.passed("cnn", "occlusion", "auc") is False
    assert truth.passed("vit", "grad_cam", "auc") is None
    believed = {row[1]: row[2] for row in tables["believed"].rows}
    assert believed["grad_cam"] == "yes (1.000)"
    assert believed["occlusion"].startswith("no (0.")
    assert [row[2] for row in tables["doses"].rows[:5]] == list(DOSES)
    assert any(isinstance(item, Picture) for item in items)


def test_other_studies_have_no_such_section(collection):
    assert "known_truth" in [part.id for part in compose(collection).sections]
    plain = [run for run in collection.runs if run.varied.get("value") == 0.0]
    assert known_truth(Material(type(collection)(tuple(plain)))) == []
