"""What a report says of folders that lack something, and of what a reader must know first."""

from dataclasses import replace

import pytest
from report_reading import items, table, words
from report_runs import LOOKING, write_run

from fer_lightning.errors import UserError
from fer_lightning.report.compose import compose
from fer_lightning.report.content import Picture, Scatter, Table, Text
from fer_lightning.runs.collection import Collection, collect


def test_faces_are_left_out_on_request(tmp_path):
    write_run(tmp_path)
    report = compose(collect([tmp_path]), faces=False)
    assert not any(picture.faces for picture in items(report, Picture))
    (scatter,) = items(report, Scatter)
    assert not len(scatter.faces)
    assert "on request" in words(report)


def test_substitutions_come_first_and_drawn_faces_before_all(tmp_path):
    line = "drawn faces instead of FER-2013: the numbers say nothing about real faces"
    write_run(tmp_path, substitutions=["CPU instead of a GPU", line], data="drawn faces")
    first = compose(collect([tmp_path])).sections[0].items[0]
    assert isinstance(first, Text)
    assert (first.text, first.kind) == (f"**{line}**", "note")


def test_a_leaking_test_is_said_to_leak(tmp_path):
    write_run(tmp_path, twins=14)
    assert "14 test images, 10.0 %, have an identical twin" in words(compose(collect([tmp_path])))


def test_a_single_run_has_a_report_without_comparisons(tmp_path):
    report = compose(collect([write_run(tmp_path)]))
    assert report.title == "cnn, 100 % of the training data, seed 1"
    assert "no hypothesis is judged" in words(report)
    assert "One seed only" in words(report)
    ids = {item.id for item in items(report, Table | Picture)}
    assert "gaps_and_gains" not in ids
    assert {"training_curves", "focus", "confusion_cnn", "cost"} <= ids


def test_one_seed_says_what_its_intervals_cannot_say(tmp_path):
    for model in ("cnn", "vit"):
        write_run(tmp_path, model)
    report = compose(collect([tmp_path]))
    assert "say nothing of how much another training seed" in words(report)
    row = table(report, "accuracy").rows[0]
    assert row[4] is None  # no SD of one seed
    assert "one seed" in table(report, "accuracy").notes[0]


def test_missing_cells_and_unused_folders_are_named(tmp_path):
    for model, seed in (("cnn", 1), ("cnn", 2), ("vit", 1)):
        write_run(tmp_path, model, seed=seed)
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.yaml").write_text("a: 1")
    report = compose(collect([tmp_path]))
    assert "vit-100pct-seed2" in words(report)
    assert any("half" in str(row[0]) for row in table(report, "left_out").rows)


def test_a_slim_folder_leaves_parts_out_and_says_which(tmp_path):
    write_run(tmp_path, leave_out=(*LOOKING, "metrics.csv"))
    report = compose(collect([tmp_path]))
    told = words(report)
    for what in ("metrics.csv", "focus_samples.csv", "maps.npz", "features.npz", "null maps"):
        assert what in told
    assert table(report, "accuracy").rows
    assert not items(report, Scatter)


@pytest.mark.parametrize("name", ["features.npz", "maps.npz", "metrics.csv", "focus_samples.csv"])
def test_a_damaged_file_costs_its_part_only(tmp_path, name):
    folder = write_run(tmp_path)
    (folder / name).write_bytes(b"PK\x03\x04 \xff not what it should be")
    report = compose(collect([tmp_path]))
    assert f"{folder.name}/{name}" in words(report) or name in words(report)
    assert table(report, "accuracy").rows


def test_folders_of_an_earlier_version_are_read(tmp_path):
    folder = write_run(tmp_path, leave_out=("occlusion.csv",))
    (folder / "focus_samples.csv").write_text(
        "row,file,lfr_eyes,lfr_mouth,lfr_eyebrow,lfr_nose,lfr_key,lfr_all,lsi,background\n"
        "0,a.jpg,1,1,1,1,2,1,0.1,0.2\n3,b.jpg,,,,,,,,\n6,c.jpg,1,1,1,1,4,1,0.1,0.2\n"
    )
    found = table(compose(collect([tmp_path])), "focus")
    assert [row[2] for row in found.rows if row[:2] == ("key", "ours, own grid")] == [
        "3.000 ± 1.414"
    ]


def test_without_any_run_there_is_no_report():
    with pytest.raises(UserError, match="at least one finished run"):
        compose(Collection(runs=()))


def test_hypotheses_that_cannot_be_judged_cost_no_more_than_their_verdicts(tmp_path):
    for model in ("cnn", "vit"):
        write_run(tmp_path, model, leave_out=LOOKING)
    asked = {"hypothesis": "H9", "first": "cnn", "second": "vit"}
    found = replace(collect([tmp_path]), study={"hypotheses": [asked]})
    report = compose(found)
    assert "The hypotheses are not judged: expected a hypothesis but got 'H9'" in words(report)
    assert table(report, "overview").rows


def test_a_damaged_focus_file_leaves_the_lead_judged(tmp_path):
    for model in ("cnn", "vit"):
        folder = write_run(tmp_path, model, images=700)
    (folder / "focus_samples.csv").write_text("row,resolution\n0,native\n0,native\n")
    found = {row[0]: row for row in table(compose(collect([tmp_path])), "verdicts").rows}
    assert found["H1a"][2] == "supported"
    assert found["H2"][2] == "undecided"
