import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from fake_runs import fake_run, fake_study

from fer_lightning.errors import UserError
from fer_lightning.runs.collection import collect, save_table


@pytest.fixture
def runs(tmp_path):
    root = tmp_path / "runs"
    for model, acc in (("vit", 0.3), ("cnn", 0.6)):
        for seed in (43, 42):
            fake_run(root, model, 0.3, seed, acc=acc)
    return root


def test_one_tidy_row_per_run(runs):
    table = collect([runs]).table
    assert list(table.model) == ["cnn", "cnn", "vit", "vit"]
    assert list(table.seed) == [42, 43, 42, 43]
    assert list(table.test_acc) == [0.6, 0.6, 0.3, 0.3]
    first = table.iloc[0]
    assert (first.parameters, first.seconds, first.train_images) == (1000, 12.5, 80)
    assert (first.test_ece, first.test_ece_floor, first.torch) == (0.1, 0.02, "2.15.0")


def test_images_that_are_recognised_line_up_over_seeds(runs):
    seeds, row, right = collect([runs]).correct("cnn", 0.3)
    assert seeds == (42, 43)
    assert row.tolist() == list(range(0, 30, 3))
    np.testing.assert_array_equal(right, [[True] * 6 + [False] * 4] * 2)


def test_long_tables_carry_their_run(runs):
    found = collect([runs])
    assert found.predictions.groupby(["model", "seed"]).correct.mean()["vit", 43] == 0.3
    assert len(found.metrics) == 4 * 3
    samples = found.focus_samples
    assert set(samples.resolution) == {"native"}
    assert samples.lsi_key.notna().sum() == 4
    assert samples.background_share.notna().sum() == 4
    nulls = found.focus[found.focus.source == "untrained"]
    assert set(nulls.map_seed) == {0}
    assert set(nulls.seed) == {42, 43}


def test_what_the_focus_command_measured_is_preferred(tmp_path):
    run = fake_run(tmp_path)
    (run / "controls").mkdir()
    (run / "controls/focus_samples.csv").write_text("row,resolution,lfr_key\n3,matched,2\n")
    assert collect([run]).focus_samples.resolution.tolist() == ["matched"]


def test_missing_cells_complete_the_grid(runs):
    fake_run(runs, "swin", 1.0, 42)
    missing = collect([runs]).missing
    assert "swin-100pct-seed43" in missing
    assert "cnn-100pct-seed42" in missing
    assert len(missing) == 3 * 2 * 2 - 5


def test_a_half_written_folder_is_named_and_left_out(runs):
    (runs / "vit-30pct-seed42/summary.json").unlink()
    found = collect([runs])
    assert found.missing == ("vit-30pct-seed42",)
    assert "half-written" in found.left_out[str(runs / "vit-30pct-seed42")]


def test_a_damaged_summary_is_named_and_left_out(runs):
    (runs / "vit-30pct-seed42/summary.json").write_text("{")
    (runs / "vit-30pct-seed43/summary.json").write_text("[" * 100_000)
    found = collect([runs])
    assert len(found.runs) == 2
    assert all("expected JSON" in why for why in found.left_out.values())


def test_a_test_of_another_run_is_left_out(tmp_path):
    run = fake_run(tmp_path)
    path = run / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"best_epoch": None}))
    assert "only measures" in collect([tmp_path]).left_out[str(run)]


def test_another_data_set_is_refused_with_both_fingerprints(runs):
    fake_run(runs, "cnn", 1.0, fingerprint="0123456789abcdef")
    with pytest.raises(UserError, match="one data set") as error:
        collect([runs])
    assert "0123456789abcdef" in str(error.value)
    assert "f" * 16 in str(error.value)


def test_a_copy_counts_once_and_another_run_of_the_cell_is_refused(tmp_path):
    fake_run(tmp_path / "a", identity="x")
    fake_run(tmp_path / "b", identity="x", started="later")
    found = collect([tmp_path / "a", tmp_path / "b"])
    assert len(found.runs) == 1
    assert "same run" in next(iter(found.left_out.values()))
    fake_run(tmp_path / "c", identity="y")
    with pytest.raises(UserError, match="trained differently"):
        collect([tmp_path / "a", tmp_path / "c"])


def test_a_study_says_what_is_expected_and_where(tmp_path):
    out, elsewhere = tmp_path / "out", tmp_path / "results"
    fake_run(out, "vit", identity="v", name="vit-30pct-seed42-v")
    fake_run(out, "vit", identity="old", name="vit-30pct-seed42-old")
    fake_run(elsewhere, "cnn")  # a run that no study made
    cells = {
        "vit-30pct-seed42": ("v", "vit-30pct-seed42-v"),
        "cnn-30pct-seed42": ("c", "../results/cnn-30pct-seed42"),
        "cnn-30pct-seed43": ("d", "cnn-30pct-seed43-d"),
    }
    fake_study(out, cells)
    found = collect([out])
    assert [(run.model, run.identity) for run in found.runs] == [("vit", "v"), ("cnn", "c")]
    assert found.missing == ("cnn-30pct-seed43",)
    assert "no cell of this study" in found.left_out[str(out / "vit-30pct-seed42-old")]


def test_runs_tested_on_different_images_are_refused(runs):
    path = runs / "cnn-30pct-seed43/predictions.npz"
    arrays = dict(np.load(path))
    np.savez(path, **arrays | {"row": arrays["row"] + 1})
    with pytest.raises(UserError, match="same test images"):
        collect([runs]).correct("cnn", 0.3)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"logits": np.zeros((10,), np.float32)}, "arrays that fit each other"),
        ({"logits": np.zeros((9, 7), np.float32)}, "arrays that fit each other"),
        ({"label": np.array([None] * 10)}, "label holds objects"),
        ({"label": np.full(10, 7)}, "labels up to 7"),
        ({"label": np.full(10, -1)}, "labels up to -1"),
        ({"logits": np.zeros((10, 8), np.float32)}, "and 8 logits"),
        ({"row": np.array(["a"] * 10)}, "expected numbers"),
    ],
)
def test_damaged_predictions(tmp_path, change, why):
    run = fake_run(tmp_path)
    arrays = dict(np.load(run / "predictions.npz"))
    np.savez(run / "predictions.npz", **arrays | change)
    other = fake_run(tmp_path, "vit")
    found = collect([tmp_path])
    assert [one.path for one in found.runs] == [other]
    assert why in found.left_out[str(run)]


def test_a_damaged_line_of_metrics_costs_that_line(tmp_path):
    run = fake_run(tmp_path)
    (run / "metrics.csv").write_text("epoch,val/acc\n0,0.1\n1,\xff\n")
    found = collect([tmp_path])
    assert found.metrics["val/acc"].tolist() == [0.1]
    assert "line 3: expected numbers" in found.left_out[str(run / "metrics.csv")]


def test_predictions_that_unpack_to_too_much(tmp_path, monkeypatch):
    run = fake_run(tmp_path)
    np.savez_compressed(run / "predictions.npz", row=np.zeros(1_000_000))
    monkeypatch.setattr("fer_lightning.runs.files.MAX_ARRAYS", 1_000_000)
    assert "unpacks to" in collect([run]).left_out[str(run)]


def test_nowhere_is_refused(tmp_path):
    with pytest.raises(UserError, match="there is none at"):
        collect([tmp_path / "nowhere"])


def test_tables_are_saved(runs, tmp_path):
    path = save_table(collect([runs]).table, tmp_path / "runs_table")[0]
    assert pd.read_csv(path).test_acc.tolist() == [0.6, 0.6, 0.3, 0.3]


def test_collecting_needs_no_torch():
    code = "import sys, fer_lightning.runs.collection; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
