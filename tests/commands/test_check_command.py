"""``fer-lightning check``: damage is named, file by file, and mended where that is possible."""

import os

import pytest
from fake_runs import fake_run
from reader_samples import csv_text
from report_runs import LOOKING, write_run

from fer_lightning.cli import main as cli
from fer_lightning.data.cache import FOLDER, load
from fer_lightning.runs.files import read_json, write_json
from fer_lightning.runs.hashes import check_run, finish


@pytest.fixture
def run(tmp_path):
    """A run that was finished as a fit finishes it."""
    folder = write_run(tmp_path / "runs", leave_out=LOOKING)
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / "best.ckpt").write_bytes(b"weights")
    (folder / "checkpoints" / "previous.ckpt").write_bytes(b"older weights")
    (folder / "confusion").mkdir()
    (folder / "confusion" / "test.png").write_bytes(b"a picture")
    finish(folder, read_json(folder / "summary.json"))
    (folder / "checkpoints" / "previous.ckpt").unlink()
    return folder


def states(folder):
    return {one.file: one.state for one in check_run(folder)}


def test_an_untouched_run_is_whole(run, capsys):
    found = states(run)
    assert set(found.values()) == {"whole"}
    assert {"summary.json", "checkpoints/best.ckpt", "confusion/test.png"} <= found.keys()
    assert cli(["check", str(run), "--repair"]) == 0  # writes the page
    assert (run / "report.html").is_file()
    assert cli(["check", str(run)]) == 0
    assert "0 missing or changed" in capsys.readouterr().out


def test_what_is_changed_or_missing_is_named(run, capsys):
    os.truncate(run / "checkpoints" / "best.ckpt", 3)
    (run / "confusion" / "test.png").unlink()
    write_json(run / "summary.json", read_json(run / "summary.json") | {"seed": 7})
    found = states(run)
    assert found["checkpoints/best.ckpt"] == found["summary.json"] == "changed"
    assert found["confusion/test.png"] == "missing"
    assert list(found.values()).count("whole") == len(found) - 3
    assert cli(["check", str(run.parent)]) == 1
    out = capsys.readouterr().out
    assert f"{run.name}/checkpoints/best.ckpt" in out
    assert "train again" in out


def test_a_run_of_before_is_read_and_said_to_have_no_hashes(tmp_path, capsys):
    folder = fake_run(tmp_path)
    assert cli(["check", str(folder)]) == 0
    assert "have no hash" in capsys.readouterr().out
    (folder / "predictions.npz").write_bytes(b"rotten")
    assert states(folder)["predictions.npz"] == "damaged"
    assert cli(["check", str(folder)]) == 1


def test_hashes_that_lead_elsewhere_are_refused(run, capsys):
    write_json(run / "hashes.json", {"blake2b": {"../../secret": "0"}})
    assert cli(["check", str(run)]) == 2
    assert "expected hashes of files of the run" in capsys.readouterr().err


def test_a_report_is_made_anew(tmp_path, capsys):
    for seed in (1, 2):
        write_run(tmp_path, seed=seed, leave_out=LOOKING)
    assert cli(["report", str(tmp_path)]) == 0
    assert cli(["check", str(tmp_path)]) == 0
    figure = next((tmp_path / "tables").glob("*.csv"))
    figure.write_text("changed")
    assert cli(["check", str(tmp_path)]) == 1
    assert f"tables/{figure.name}" in capsys.readouterr().out
    assert cli(["check", str(tmp_path), "--repair"]) == 0
    assert figure.read_text() != "changed"


def test_a_cache(tmp_path, capsys):
    (tmp_path / "fer2013.csv").write_text(csv_text(8))
    load(tmp_path)
    assert cli(["check", str(tmp_path / FOLDER)]) == 0
    labels = next((tmp_path / FOLDER).glob("*/labels.npy"))
    data = bytearray(labels.read_bytes())
    data[-8:], data[-16:-8] = data[-16:-8], data[-8:]  # the same sum
    labels.write_bytes(data)
    assert cli(["check", str(tmp_path)]) == 1
    assert "labels, usage or classes have changed" in " ".join(capsys.readouterr().out.split())
    assert cli(["check", str(tmp_path), "--repair"]) == 0
    assert not labels.exists()


def test_nothing_to_check(tmp_path, capsys):
    assert cli(["check", str(tmp_path)]) == 2
    assert cli(["check", str(tmp_path / "none")]) == 2
    assert "expected the folder of a run, a study or a cache" in capsys.readouterr().err
