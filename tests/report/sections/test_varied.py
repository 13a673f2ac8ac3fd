"""What a study varied is drawn as such; what models cost is drawn against their accuracy."""

import json

import pytest
from dose_runs import DOSES, dose_run
from report_runs import write_run

from fer_lightning.plots.trade_off import Point, accuracy_by_cost, pareto
from fer_lightning.report.content import Picture, Table
from fer_lightning.report.sections.cost import cost
from fer_lightning.report.sections.generalisation import generalisation
from fer_lightning.report.sections.registry import Material
from fer_lightning.report.sections.varied import varied
from fer_lightning.runs.collection import collect


def test_a_varied_option_is_the_axis(tmp_path):
    for dose in DOSES:
        for seed in (42, 43):
            dose_run(tmp_path, "cnn", dose, seed)
    collection = collect([tmp_path])
    picture, table = varied(Material(collection))
    (axes,) = picture.figure.axes
    assert axes.get_xlabel() == "data.cue.strength"
    assert axes.get_xticks().tolist() == list(DOSES)
    assert table.columns[:2] == ("model", "data.cue.strength")
    assert [row[:4] for row in table.rows] == [("cnn", dose, "10 %", 2) for dose in DOSES]
    right = collection.correct("cnn.strength0.0", 0.1).right
    assert table.rows[0][4] == pytest.approx(right.mean(), abs=1e-4)


def test_words_are_listed_and_not_drawn(tmp_path):
    for value in ("unit", "standard"):
        folder = write_run(tmp_path, f"vit.scale{value}")
        cell = {"model": f"vit.scale{value}", "fraction": 1.0, "seed": 1, "identity": value}
        about = {"model": "vit", "option": "data.scale", "value": value}
        (folder / "cell.json").write_text(json.dumps(cell | {"varied": about}))
    (table,) = varied(Material(collect([tmp_path])))
    assert isinstance(table, Table)
    assert [row[1] for row in table.rows] == ["standard", "unit"]


def test_studies_that_vary_nothing_have_no_such_part(tmp_path):
    write_run(tmp_path)
    assert varied(Material(collect([tmp_path]))) == []


def test_accuracy_against_arithmetic(tmp_path):
    for place, model in enumerate(("cnn", "vit", "swin")):
        summary = write_run(tmp_path, model) / "summary.json"
        changed = json.loads(summary.read_text()) | {"multiply_adds": 10 ** (6 + place)}
        summary.write_text(json.dumps(changed))
    picture = cost(Material(collect([tmp_path])))[0]
    assert isinstance(picture, Picture)
    assert picture.alt.startswith("Most accurate for their cost (MFLOPs, accuracy): cnn (2, 0.")
    # two models make no front
    (tmp_path / "swin-100pct-seed1/summary.json").unlink()
    assert not any(isinstance(i, Picture) for i in cost(Material(collect([tmp_path]))))


def test_the_front_is_a_staircase():
    points = {
        "cheap": Point(1, 0.5, 0.4, 0.6),
        "as_cheap": Point(1, 0.45, 0.4, 0.6),
        "beaten": Point(2, 0.5, 0.4, 0.6),
        "best": Point(4, 0.6, 0.5, 0.7),
        "dearer": Point(8, 0.6, 0.5, 0.7),
    }
    assert pareto(points) == ["cheap", "best"]
    (line,) = [
        one for one in accuracy_by_cost(points, "x").axes[0].lines if len(one.get_xdata()) > 1
    ]
    assert list(line.get_xdata()) == [1, 4]


def test_training_images_against_new_ones(tmp_path):
    write_run(tmp_path, "cnn")
    write_run(tmp_path, "vit", leave_out=("metrics.csv",))
    collection = collect([tmp_path])
    (table,) = generalisation(Material(collection))
    (row,) = table.rows  # the vit logged nothing
    learned = collection.run("cnn", 1.0, 1).metrics["train/acc"].iloc[-1]
    tested = collection.run("cnn", 1.0, 1).summary["test"]["acc"]
    assert row[:3] == ("cnn", "100 %", 1)
    assert row[3:6] == (
        pytest.approx(learned, abs=1e-4),
        pytest.approx(tested, abs=1e-4),
        pytest.approx(100 * (learned - tested), abs=0.06),
    )
    assert row[6] == "underfits"
