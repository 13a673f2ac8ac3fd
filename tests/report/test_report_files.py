"""The files of a report: complete, the same again, tidied up, and refused in one sentence."""

import csv
import hashlib
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
    for name in ("old.png", "mine.png", "changed.png"):
        (folder / "figures" / name).write_bytes(b"")
    (folder.parent / "outside.txt").write_text("")
    (folder / "figures/link.png").symlink_to(folder.parent / "outside.txt")
    nothing = hashlib.sha256(b"").hexdigest()
    names = ("figures/old.png", "../outside.txt", "figures/../../outside.txt", "figures/link.png")
    listed = dict.fromkeys(names, nothing) | {"figures/changed.png": "0" * 64, "x": 3}
    (folder / LIST).write_text(json.dumps({"files": listed}))
    write_report(collect([runs]), folder)
    return folder


def test_everything_that_the_words_name_is_there(out):
    page = (out / "report.md").read_text()
    named = re.findall(r"\]\(((?:figures|tables)/[^)]+)\)", page)
    assert len(named) > 20
    assert all((out / name).stat().st_size for name in named)
    assert (out / "report.html").read_text().startswith("<!doctype html>")


def test_every_figure_is_there_for_screen_and_print(out):
    names = {path.stem for path in (out / "figures").iterdir()} - {"mine", "changed", "link"}
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


def test_names_from_a_foreign_folder_stay_in_the_reports(tmp_path):
    folder = write_run(tmp_path / "runs", "vit", images=70, probe=21)
    for name in ("summary.json", "run.json"):
        content = json.loads((folder / name).read_text()) | {"model": "../../../evil"}
        (folder / name).write_text(json.dumps(content))
    out = tmp_path / "deep/er/out"
    written = write_report(collect([folder]), out)
    assert all(path.resolve().is_relative_to(out) for path in written)
    assert not list(tmp_path.rglob("*evil.png"))
    page = (out / "report.md").read_text()
    named = re.findall(r"\]\(((?:figures|tables)/[^)]+)\)", page)
    assert named
    assert all((out / name).is_file() for name in named)


@pytest.mark.parametrize("name", ["tables", "figures"])
def test_nothing_is_written_through_a_link(runs, tmp_path, name):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = tmp_path / "out"
    out.mkdir()
    (out / name).symlink_to(elsewhere)
    with pytest.raises(UserError, match="is a link to another place"):
        write_report(collect([runs]), out)
    assert not list(elsewhere.iterdir())


def test_a_page_behind_a_link_is_replaced_and_not_followed(runs, tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").symlink_to(tmp_path / "precious.txt")
    write_report(collect([runs]), out)
    assert (tmp_path / "precious.txt").read_text() == "mine"
    assert not (out / "report.html").is_symlink()
