"""When a cell is done: everything that the study asks for was measured, or cannot be."""

import pytest

from fer_lightning.execution.study.cells import CellFolder, leave_out, left_out
from fer_lightning.execution.study.plan import FocusPlan

BOTH = ("grad_cam", "gradient")


@pytest.fixture
def finished(tmp_path):
    (tmp_path / "summary.json").write_text("{}")
    (tmp_path / "controls").mkdir()
    return tmp_path


def measured(folder, file, *methods):
    (folder / "controls" / file).write_text("\n".join(["method,n", *(f"{m},1" for m in methods)]))


def unmeasured(folder, methods=BOTH, controls="full"):
    return CellFolder(folder, FocusPlan(200, methods, controls)).unmeasured


def test_one_more_method_is_all_that_is_missing(finished):
    assert unmeasured(finished) == list(BOTH)
    assert not CellFolder(finished, FocusPlan()).done
    assert CellFolder(finished).done  # nothing is asked for
    measured(finished, "randomisation.csv", *BOTH)
    assert CellFolder(finished, FocusPlan(200, BOTH)).done
    assert unmeasured(finished, (*BOTH, "occlusion")) == ["occlusion"]


def test_full_controls_are_more_than_maps(finished):
    measured(finished, "hiding.csv", *BOTH)
    assert unmeasured(finished, controls="maps") == []
    assert unmeasured(finished, controls="full") == list(BOTH)
    measured(finished, "randomisation.csv", "gradient")
    assert unmeasured(finished, controls="full") == ["grad_cam"]


def test_what_the_training_itself_measured_does_not_count(finished):
    (finished / "hiding.csv").write_text("method\ngrad_cam\ngradient\n")
    assert unmeasured(finished, controls="maps") == list(BOTH)


def test_an_impossible_method_is_not_tried_again(finished):
    measured(finished, "randomisation.csv", "grad_cam")
    leave_out(finished / "controls", {"gradient": "why"})
    assert unmeasured(finished) == []
    leave_out(finished / "controls", {"occlusion": "other"}, measured=["gradient"])
    assert left_out(finished / "controls") == {"occlusion": "other"}
    assert unmeasured(finished) == ["gradient"]
    leave_out(finished / "controls", {}, measured=["occlusion"])
    assert not (finished / "controls/left_out.json").exists()


def test_tables_and_notes_of_before(finished):
    (finished / "controls/randomisation.csv").write_text("stage,layer\n1,head\n")  # no method
    assert unmeasured(finished) == ["gradient"]
    (finished / "controls/left_out.txt").write_text("The controls could not be measured.\n")
    assert unmeasured(finished) == []


@pytest.mark.parametrize("text", ["", "{]", "[1]"])
def test_damaged_files_are_measured_again(finished, text):
    (finished / "controls/randomisation.csv").write_text(text)
    (finished / "controls/left_out.json").write_text(text)
    assert unmeasured(finished) == list(BOTH)
