"""Run folders → evidence, without loading torch."""

import subprocess
import sys

import numpy as np
import pytest

from fer_lightning.errors import UserError
from fer_lightning.hypotheses.evidence import cells_of, focus_of
from fer_lightning.runs.run import Run

HEAD = "row,resolution,lfr_key,lfr_all,lsi_key,auc_key,mass_key,centred_key_mean,excess_key_mean"
OF_IMAGES = """9,native,2,1.5,0.1,0.8,1.9,0.3,9
9,matched,1.5,1.2,0.2,0.7,1.4,0.3,9
4,native,,,,,,-0.1,9
4,matched,,,,,,-0.1,9
"""
SAMPLES = f"{HEAD}\n{OF_IMAGES}"
FOCUS = """source,seed,resolution,masks,region,n,zero_maps,lfr_log_mean,mass_ratio
model,,matched,given,key,2,1,0.4,0.7
uniform,,matched,given,key,2,0,0.0,1.0
untrained,0,matched,given,key,2,1,0.1,0.9
untrained,1,matched,given,key,2,2,,
untrained,2,matched,given,key,2,0,,
untrained,0,native,given,key,2,0,0.7,0.9
untrained,0,matched,dilated,key,2,0,0.8,0.9
untrained,0,matched,given,eyes,2,0,0.9,0.9
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "controls").mkdir()
    (tmp_path / "controls" / "focus_samples.csv").write_text(SAMPLES)
    (tmp_path / "controls" / "focus.csv").write_text(FOCUS)
    logits = np.array([[2.0, 1.0], [0.0, 1.0], [3.0, 0.0]], dtype=np.float32)
    np.savez(tmp_path / "predictions.npz", row=[5, 2, 9], label=[0, 0, 0], logits=logits)
    return Run(tmp_path, "cnn", 0.3, 42)


def test_answers_by_image(run):
    (found,) = cells_of([run])
    assert (found.model, found.fraction, found.seed) == ("cnn", 0.3, 42)
    assert found.ids.tolist() == [2, 5, 9]
    assert found.correct.tolist() == [False, True, True]


def test_focus_by_image_and_its_controls(run):
    (found,) = focus_of([run])
    assert found.ids.tolist() == [4, 9]
    np.testing.assert_array_equal(found.lfr["native", "key"], [np.nan, 2.0])
    np.testing.assert_array_equal(found.lfr["matched", "all"], [np.nan, 1.2])
    np.testing.assert_array_equal(found.lsi["matched"], [np.nan, 0.2])
    np.testing.assert_array_equal(found.auc["matched", "key"], [np.nan, 0.7])
    np.testing.assert_array_equal(found.mass["native", "key"], [np.nan, 1.9])
    assert {*found.excess} == {"mean"}  # of centred logits; those of before are not used
    np.testing.assert_array_equal(found.excess["mean"], [-0.1, 0.3])
    # zero maps count as 1: half of two, and all of them
    assert found.nulls == pytest.approx(
        {"uniform": 1.0, "untrained 0": 0.95, "untrained 1": 1.0, "untrained 2": np.nan},
        nan_ok=True,
    )
    assert (found.method, found.architecture) == ("grad_cam", "cnn")
    assert found.regions_from is None
    assert not found.per_image.any()


def test_tables_of_before_have_neither_the_measure_nor_the_arbiter(run):
    old = (
        "row,resolution,lfr_key,lsi_key,excess_key_mean\n9,native,2,0.1,0.3\n9,matched,2,0.1,0.3\n"
    )
    (run.path / "controls" / "focus_samples.csv").write_text(old)
    (found,) = focus_of([run])
    assert (found.auc, found.mass, found.excess) == ({}, {}, {})
    assert found.lfr["matched", "key"].tolist() == [2.0]


def lines(text, first, rest=None):
    head, *others = text.strip().split("\n")
    return [f"method,{head},regions_from", *(f"{first},{line},{rest}" for line in others)]


def test_one_for_each_method(run):
    (run.path / "controls" / "focus_samples.csv").write_text(
        "\n".join(
            [*lines(SAMPLES, "grad_cam", "template"), *lines(SAMPLES, "occlusion", "landmarks")[1:]]
        )
    )
    paper, other = focus_of([run], None)
    assert (paper.method, other.method) == ("grad_cam", "occlusion")
    assert not paper.per_image.any()
    assert other.per_image.all()
    assert [one.method for one in focus_of([run])] == ["grad_cam"]
    assert [one.method for one in focus_of([run], ["occlusion"])] == ["occlusion"]


def test_a_method_measured_later_brings_no_numbers_to_one_of_before(run):
    old = "grad_cam,9,native,2,1.5,0.1,,,,9,\ngrad_cam,9,matched,2,1.5,0.1,,,,9,\n"
    new = "\n".join(lines(SAMPLES, "occlusion", "landmarks"))
    (run.path / "controls" / "focus_samples.csv").write_text(f"{new}\n{old}")
    table = "\n".join(lines(FOCUS, "grad_cam", ""))
    (run.path / "controls" / "focus.csv").write_text(table)
    (found,) = focus_of([run])
    assert (found.auc, found.mass, found.regions_from) == ({}, {}, None)
    assert focus_of([run], ["occlusion"])[0].auc["matched", "key"][1] == 0.7


def test_null_rows_of_own_regions_go_before_a_templates(run):
    table = [*lines(FOCUS, "grad_cam", "landmarks"), *lines(FOCUS, "grad_cam", "template")[1:]]
    table[-7] = table[-7].replace(",0.5,", ",0.9,")  # uniform, by the template
    (run.path / "controls" / "focus.csv").write_text("\n".join(table))
    (found,) = focus_of([run])
    assert found.nulls["uniform"] == 1.0
    assert found.regions_from is None  # the table has both, the images tell nothing
    (run.path / "controls" / "focus.csv").write_text("\n".join(lines(FOCUS, "grad_cam", "exact")))
    assert focus_of([run])[0].regions_from.tolist() == ["exact", "exact"]


def test_a_run_nobody_looked_into_has_no_focus(tmp_path):
    assert focus_of([Run(tmp_path, "cnn", 0.3, 42)]) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SAMPLES + "9,native,2,1.5,0.1,0.8,1.9,0.3,9\n", "one line for each image and resolution"),
        (SAMPLES.replace("4,matched", "7,matched"), "the same images at both resolutions"),
        ("a,resolution\n1,native\n", "one line for each image and resolution"),
    ],
)
def test_damaged_samples_are_refused(run, text, message):
    (run.path / "controls" / "focus_samples.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        focus_of([run])


def test_statistics_load_no_torch():
    code = (
        "import sys, fer_lightning.hypotheses.paper, fer_lightning.hypotheses.evidence;"
        "import fer_lightning.hypotheses;"
        "print([m for m in ('torch', 'wandb', 'statsmodels') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
