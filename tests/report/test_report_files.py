"""The files of a report: complete, the same again, tidied up, and refused in one sentence."""

import csv
import json
import re

import pytest
from report_runs import LOOKING, write_run

from fer_lightning.errors import UserError
from fer_lightning.report.compose import compose
from fer_lightning.report.content import Report, Section, Table, Text
from fer_lightning.report.render.markdown import MOST_ROWS, markdown
from fer_lightning.report.write import LIST, figures, save_figure, settle, write_page, write_report
from fer_lightning.runs.collection import collect


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    write_run(root, "vit", images=70, probe=21)
    return root


@pytest.fixture(scope="module")
def out(runs, tmp_path_factory):
    """A report, written over an earlier one that had a figure more, beside somebody's own."""
    folder = tmp_path_factory.mktemp("out")
    (folder / "figures").mkdir()
    for name in ("old.png", "mine.png"):
        (folder / "figures" / name).write_bytes(b"")
    outside = "../outside.txt"
    (folder / LIST).write_text(json.dumps({"files": ["figures/old.png", outside, 3]}))
    (folder.parent / "outside.txt").write_text("x")
    write_report(collect([runs]), folder)
    return folder


def test_everything_that_the_words_name_is_there(out):
    page = (out / "report.md").read_text()
    named = re.findall(r"\]\(((?:figures|tables)/[^)]+)\)", page)
    assert len(named) > 20
    assert all((out / name).stat().st_size for name in named)
    assert (out / "report.html").read_text().startswith("<!doctype html>")


def test_every_figure_is_there_for_screen_and_print(out):
    names = {path.stem for path in (out / "figures").iterdir()} - {"mine"}
    for name in names:
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (out / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert {"tsne_vit-100pct-seed1", "gallery", "confusion_vit"} <= names


def test_tables_hold_numbers(out):
    with (out / "tables" / "accuracy.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["model"] for row in rows] == ["vit"]
    assert 0 < float(rows[0]["accuracy"]) < 1
    assert rows[0]["SD over seeds"] == ""


def test_an_earlier_report_is_tidied_up_and_nothing_else(out):
    assert not (out / "figures" / "old.png").exists()
    assert (out / "figures" / "mine.png").exists()
    assert (out.parent / "outside.txt").exists()
    assert not list(out.rglob(".*"))  # no temporary file


def test_the_same_runs_give_the_same_words_and_pictures(runs, out, tmp_path):
    report = compose(collect([runs]))
    assert markdown(report) == (out / "report.md").read_text()
    settle(report)
    name, figure = next(figures(report))
    for path in save_figure(figure, tmp_path / name):
        assert path.read_bytes() == (out / "figures" / path.name).read_bytes(), path.name


def test_a_page_of_one_run_lies_in_its_folder(tmp_path):
    folder = write_run(tmp_path, leave_out=LOOKING)
    before = {path.name for path in folder.iterdir()}
    assert write_page(folder) == folder / "report.html"
    assert {path.name for path in folder.iterdir()} - before == {"report.html"}


def test_a_folder_that_cannot_be_written_is_told(runs, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match=r"expected to write a report into .* choose another --out"):
        write_report(collect([runs]), tmp_path / "file" / "out")


def test_words_cannot_break_the_markdown():
    table = Table("t", "a | b\n# no heading", ("x|y",), (("1\n2",), ("<script>",)))
    page = markdown(Report("T", "s", (Section("s", "S", (Text("<b>\nbold"), table)),)))
    assert "| x\\|y |" in page
    assert "| 1 2 |" in page
    assert "<script>" not in page
    assert "\n# no heading" not in page
    assert "&lt;b> bold" in page


def test_long_tables_are_cut_in_the_words_only():
    table = Table("t", "Long.", ("n",), tuple((k,) for k in range(MOST_ROWS + 5)))
    page = markdown(Report("T", "s", (Section("s", "S", (table,)),)))
    assert "5 more rows in [tables/t.csv]" in page
    assert f"| {MOST_ROWS - 1} |" in page
    assert f"| {MOST_ROWS} |" not in page
