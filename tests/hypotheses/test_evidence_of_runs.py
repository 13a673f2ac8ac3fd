"""Run folders → evidence, without loading torch."""

import subprocess
import sys

import numpy as np
import pytest

from fer_lightning.errors import UserError
from fer_lightning.hypotheses.evidence import cells_of, focus_of
from fer_lightning.runs.run import Run

SAMPLES = """row,resolution,lfr_key,lfr_all,lsi_key,excess_key_mean
9,native,2,1.5,0.1,0.3
9,matched,1.5,1.2,0.2,0.3
4,native,,,,-0.1
4,matched,,,,-0.1
"""
FOCUS = """source,seed,resolution,masks,region,lfr_log_mean
model,,matched,given,key,0.4
uniform,,matched,given,key,0.0
untrained,0,matched,given,key,0.1
untrained,1,matched,given,key,
untrained,0,native,given,key,0.7
untrained,0,matched,dilated,key,0.8
untrained,0,matched,given,eyes,0.9
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
    np.testing.assert_array_equal(found.excess["mean"], [-0.1, 0.3])
    assert found.nulls == pytest.approx(
        {"uniform": 0.0, "untrained 0": 0.1, "untrained 1": np.nan}, nan_ok=True
    )


def test_a_run_nobody_looked_into_has_no_focus(tmp_path):
    assert focus_of([Run(tmp_path, "cnn", 0.3, 42)]) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SAMPLES + "9,native,2,1.5,0.1,0.3\n", "one line for each image and resolution"),
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
