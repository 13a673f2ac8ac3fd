"""What a report says of folders that lack something, and of what a reader must know first."""

import json
from dataclasses import replace

import numpy as np
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
    report = compose(collect([tmp_path]))
    first, story, picture = report.sections[0].items[:3]
    assert isinstance(first, Text)
    assert (first.text, first.kind) == (f"**{line}**", "note")
    assert isinstance(story, Text)
    right = collect([tmp_path]).runs[0].predictions.correct
    assert story.text.startswith("`cnn` answers **")
    assert f"of {len(right)} test images right" in story.text
    assert isinstance(picture, Picture)
    (foot,) = [s for s in report.sections if s.id == "reproduce"]
    assert Text("**CPU instead of a GPU**", "note") in foot.items


def test_a_leaking_test_is_said_to_leak(tmp_path):
    write_run(tmp_path, twins=14)
    assert "14 test images, 10.0 %, have an identical twin" in words(compose(collect([tmp_path])))


def test_what_near_twins_are_worth(tmp_path):
    folder = write_run(tmp_path)
    (run,) = collect([tmp_path]).runs
    right = run.predictions.correct
    seen = np.flatnonzero(right)[:20]
    noted = {"fingerprint": "f" * 16, "near_twins": run.predictions.row[seen].tolist()}
    (folder / "near_twins.json").write_text(json.dumps(noted))
    report = compose(collect([tmp_path]))
    others = (right.sum() - 20) / 120
    (row,) = table(report, "near_twins").rows
    worth = round(100 * (right.mean() - others), 2)
    expected = (round(right.mean(), 4), 1.0, round(others, 4), worth)
    assert row == (run.name, 140, 20, *expected)
    assert "Near-twins of" not in words(report)


def test_no_near_twins_are_said_and_unknown_ones_are_not(tmp_path):
    folder = write_run(tmp_path)
    assert "near-twin" not in words(compose(collect([tmp_path])))
    split = {"fingerprint": "f" * 16, "near_twins": []}
    (folder / "split.json").write_text(json.dumps(split))
    assert "No test image has a near-twin" in words(compose(collect([tmp_path])))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"fingerprint": "other", "near_twins": [3]}, "but they are of other"),
        ({"fingerprint": "f" * 16, "near_twins": [-1]}, "expected rows of images"),
        ({"fingerprint": "f" * 16, "near_twins": "all"}, "expected rows of images"),
        ({"fingerprint": "f" * 16, "near_twins": [10**30]}, "expected rows of images"),
    ],
)
def test_near_twins_of_another_data_set_or_damaged(tmp_path, content, why):
    folder = write_run(tmp_path)
    (folder / "near_twins.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=why):
        _ = collect([tmp_path]).runs[0].near_twins


def test_a_single_run_has_a_report_without_comparisons(tmp_path):
    report = compose(collect([write_run(tmp_path)]))
    assert report.title == "cnn-100pct-seed1: cnn, 100 % of the training data, seed 1"
    assert "no hypothesis is judged" in words(report)
    assert "One seed only" in words(report)
    ids = {item.id for item in items(report, Table | Picture)}
    assert "gaps_and_gains" not in ids
    assert {"training_curves", "focus", "confusion_cnn", "cost"} <= ids


def test_a_run_that_no_study_made_is_called_as_its_folder(tmp_path):
    folder = write_run(tmp_path, leave_out=["metrics.csv"]).rename(tmp_path / "two")
    report = compose(collect([folder]))
    assert report.title == "two: cnn, 100 % of the training data, seed 1"
    assert table(report, "runs").rows[0][0] == "two"
    assert [points.name for points in items(report, Scatter)[0].models] == ["two"]
    assert "validation accuracies: two." in words(report)
    assert "cnn-100pct-seed1" not in words(report)
    cell = {"model": "cnn", "fraction": 1.0, "seed": 1, "identity": "x"}
    (folder / "cell.json").write_text(json.dumps(cell))
    assert table(compose(collect([folder])), "runs").rows[0][0] == "cnn-100pct-seed1"


def test_a_single_runs_page_has_no_verdicts_and_does_not_speak_of_several_seeds(tmp_path):
    report = compose(collect([write_run(tmp_path)]))
    assert "verdicts" not in {section.id for section in report.sections}
    (matrix,) = [p for p in items(report, Picture) if p.id == "confusion_cnn"]
    assert matrix.caption == "cnn at 100 % of the training data, seed 1."
    assert table(report, "recall").caption == "Recall of each class."


def test_maps_without_faces_are_not_promised(tmp_path):
    folder = write_run(tmp_path)
    with np.load(folder / "features.npz") as arrays:
        kept = {name: value for name, value in arrays.items() if name != "faces"}
    np.savez_compressed(folder / "features.npz", **kept)
    report = compose(collect([folder]))
    assert "No maps are shown here, for these runs kept no faces" in words(report)
    assert "gallery" not in {picture.id for picture in items(report, Picture)}


def test_beside_drawn_faces_the_papers_numbers_are_left_out(tmp_path):
    write_run(tmp_path / "drawn", "vit", data="drawn faces")
    write_run(tmp_path / "real", "vit")
    drawn, real = (
        table(compose(collect([tmp_path / name])), "focus") for name in ("drawn", "real")
    )
    assert "paper" not in {row[1] for row in drawn.rows}
    assert "Paper" not in " ".join(drawn.notes)
    assert "paper" in {row[1] for row in real.rows}


def test_regions_without_any_warm_map_have_gaps(tmp_path):
    found = table(compose(collect([write_run(tmp_path, "vit", zero=1.0)])), "focus")
    ours = [row for row in found.rows if row[1] != "paper"]
    assert {row[2] for row in ours} == {None}
    assert "a gap: there were no others" in found.notes[0]


def test_one_seed_says_what_its_intervals_cannot_say(tmp_path):
    for model in ("cnn", "vit"):
        write_run(tmp_path, model)
    report = compose(collect([tmp_path]))
    assert "say nothing of how much another training seed" in words(report)
    assert "nothing that compares architectures is decided" in words(report)
    found = {row[0]: row for row in table(report, "verdicts").rows}
    assert found["H1a"][2:4] == ("undecided", "missing")
    row = table(report, "accuracy").rows[0]
    assert row[4] is None  # no SD of one seed
    assert "one seed" in table(report, "accuracy").notes[0]


def test_runs_without_a_plan_say_so(tmp_path):
    for model in ("cnn", "vit"):
        for seed in (1, 2):
            write_run(tmp_path, model, seed=seed)
    found = collect([tmp_path])
    told = words(compose(found))
    assert "what was found is taken for what was planned" in told
    assert "Of 1 found, for there is no plan: " in told
    plan = {"name": "s", "models": ["cnn", "vit"], "fractions": [0.3, 1.0], "seeds": [1, 2]}
    told = words(compose(replace(found, study=plan)))
    assert "taken for what was planned" not in told
    assert "Of 2 planned: " in told


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


def test_a_table_that_lacks_regions_costs_its_part_only(tmp_path):
    folder = write_run(tmp_path)
    (folder / "focus_samples.csv").write_text("row,file,lfr_key,lsi,background\n3,a,1,0.1,0.2\n")
    with pytest.warns(UserWarning, match="is left out of the report: the runs' files do not hold"):
        report = compose(collect([tmp_path]))
    assert "This part is left out" in words(report)
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
        for seed in (1, 2, 3):
            folder = write_run(tmp_path, model, images=700, seed=seed)
    (folder / "focus_samples.csv").write_text("row,resolution\n0,native\n0,native\n")
    found = {row[0]: row for row in table(compose(collect([tmp_path])), "verdicts").rows}
    assert found["H1a"][2] == "supported"
    assert found["H2"][2] == "undecided"


def test_questions_that_wait_for_cells_share_one_paragraph(tmp_path):
    for model in ("cnn", "vit"):
        for seed in (1, 2):
            write_run(tmp_path, model, fraction=0.3, seed=seed)
    collection = collect([tmp_path])
    asked = {"hypothesis": "H1a", "first": "cnn", "second": "vit"}
    study = {"name": "s", "fractions": [0.3, 1.0], "seeds": [1, 2], "hypotheses": [asked]}
    found = compose(replace(collection, study=study)).sections[0].items
    texts = [item for item in found if isinstance(item, Text)]
    cards = [text.text for text in texts if text.kind == "verdict"]
    assert ["at 30 %" in card for card in cards] == [True, False]
    assert "at every fraction" in cards[1]
    (waiting,) = [text.text for text in texts if "Not answered yet" in text.text]
    assert waiting.endswith("Is cnn ahead of vit at 100 % of the training data? (H1a)")
