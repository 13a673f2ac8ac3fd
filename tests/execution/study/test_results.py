import json

import numpy as np
import pytest
from fake_runs import fake_run

from fer_lightning.errors import UserError
from fer_lightning.execution.study.cells import Cell
from fer_lightning.execution.study.plan import read_study
from fer_lightning.execution.study.results import (
    LIMIT,
    LIMIT_OF_METHOD,
    export_slim,
    find_done,
    halved,
)
from fer_lightning.runs.collection import collect
from fer_lightning.runs.provenance import scrub
from fer_lightning.runs.run import read_run

CELL = Cell("cnn", 0.3, 42, "abc", {})


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("fit --config /a/b/cnn.yaml --x=/data/fer.zip", "fit --config cnn.yaml --x=fer.zip"),
        (
            "fit --resume '/home/some one/x'",
            "fit --resume '/home/some one/x'".replace("/home/", ""),
        ),
        ("~/runs/a", "a"),
        (r"C:\Users\me\fer.zip", "fer.zip"),
        ("configs/cnn.yaml", "configs/cnn.yaml"),
        ("https://wandb.ai/a/b", "https://wandb.ai/a/b"),
        ("3/4 of the images", "3/4 of the images"),
    ],
)
def test_machine_paths_become_names(text, clean):
    assert scrub({"a": [text]}) == {"a": [clean]}


def test_a_quoted_path_in_a_command():
    command = "fit --resume '/home/some one/x' --config='/home/some one/y.yaml' --lr=1"
    assert scrub({"command": command}) == {"command": "fit --resume x --config=y.yaml --lr=1"}


def test_the_machines_name_is_left_out(monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "zeus-17")
    assert scrub("trained on zeus-17") == "trained on host"


def test_a_slim_copy_has_the_numbers_and_no_machine(tmp_path):
    run = read_run(fake_run(tmp_path / "runs"))
    target = tmp_path / "docs/cnn-30pct-seed42"
    size = export_slim(run, CELL, target)
    assert size == sum(file.stat().st_size for file in target.rglob("*") if file.is_file()) < LIMIT
    found = collect([tmp_path / "docs"])
    assert found.table.test_acc.tolist() == [0.5]
    assert found.table.identity.tolist() == ["abc"]
    assert found.predictions.correct.mean() == 0.5
    assert found.focus_samples.lfr_key.tolist()[0] == 1.5
    for file in target.rglob("*"):
        if file.suffix in (".json", ".yaml", ".csv"):
            assert "/home" not in file.read_text(), file
            assert ".jpg" not in file.read_text(), file


def test_focus_files_of_another_folder_come_with_it(tmp_path):
    run = read_run(fake_run(tmp_path / "runs"))
    other = tmp_path / "controls"
    other.mkdir()
    for name in ("focus", "focus_samples", "occlusion", "randomisation"):
        (other / f"{name}.csv").write_text("row,file,resolution\n1,a.jpg,matched\n")
    export_slim(run, CELL, tmp_path / "slim", focus=other)
    assert collect([tmp_path / "slim"]).focus_samples.resolution.tolist() == ["matched"]
    assert not (tmp_path / "slim/focus.csv").exists()


def test_an_earlier_copy_is_replaced_and_anything_else_is_not(tmp_path):
    run = read_run(fake_run(tmp_path / "runs"))
    target = tmp_path / "slim"
    export_slim(run, CELL, target)
    (target / "metrics.csv").write_text("")
    export_slim(run, CELL, target)
    assert (target / "metrics.csv").read_text().startswith("epoch")
    with pytest.raises(UserError, match="something else"):
        export_slim(run, Cell("vit", 0.3, 42, "x", {}), target)
    assert (target / "metrics.csv").is_file()


def test_a_copy_that_is_too_large_is_not_written(tmp_path, monkeypatch):
    run = read_run(fake_run(tmp_path / "runs"))
    monkeypatch.setattr("fer_lightning.execution.study.results.LIMIT", 1000)
    with pytest.raises(UserError, match="at most 1,000 bytes"):
        export_slim(run, CELL, tmp_path / "docs/slim")
    assert list((tmp_path / "docs").iterdir()) == []


def test_each_further_method_may_take_more(tmp_path, monkeypatch):
    run = read_run(fake_run(tmp_path / "runs"))
    rows = "\n".join(f"{name},model" for name in ("grad_cam", "gradient", "occlusion"))
    (run.path / "focus.csv").write_text(f"method,source\n{rows}\n")
    where = "fer_lightning.execution.study.results"
    monkeypatch.setattr(f"{where}.LIMIT", 1000)
    monkeypatch.setattr(f"{where}.LIMIT_OF_METHOD", 1)
    with pytest.raises(UserError, match="at most 1,002 bytes"):
        export_slim(run, CELL, tmp_path / "docs/slim")
    monkeypatch.setattr(f"{where}.LIMIT_OF_METHOD", 100_000)
    assert export_slim(run, CELL, tmp_path / "docs/slim") > 1000
    assert collect([tmp_path / "docs"]).runs[0].methods == ["grad_cam", "gradient", "occlusion"]


def test_controls_without_nulls_stay_controls(tmp_path):
    run = read_run(fake_run(tmp_path / "runs"))
    (run.path / "controls").mkdir(exist_ok=True)
    for name in ("focus", "focus_samples", "hiding"):
        (run.path / f"controls/{name}.csv").write_text("method,resolution\ngradient,matched\n")
    export_slim(run, CELL, tmp_path / "slim")
    assert (tmp_path / "slim/controls/focus.csv").is_file()
    assert not (tmp_path / "slim/focus.csv").exists()


def test_half_precision_changes_no_answer():
    logits = np.random.default_rng(0).normal(size=(2000, 7)).astype(np.float32)
    logits[:, 1] = logits[:, 0] + np.float32(1e-5)  # ties in half precision
    assert (halved(logits).argmax(1) == logits.argmax(1)).all()
    assert halved(logits).dtype == np.float16
    assert halved(logits * 1e9).dtype == np.float32, "beyond the range"


def test_finished_runs_are_found_by_identity(tmp_path):
    stored = fake_run(tmp_path, "cnn", 0.3, 42, identity="abc")
    foreign = fake_run(tmp_path, "vit", 0.3, 42)
    elsewhere = fake_run(tmp_path, "cnn", 0.6, 42)
    half = fake_run(tmp_path, "cnn", 0.3, 43, identity="half")
    (half / "summary.json").unlink()
    asked = []

    def identify(run):
        asked.append(run.path)
        return "vvv"

    cells = [CELL, Cell("vit", 0.3, 42, "vvv", {}), Cell("cnn", 0.3, 43, "half", {})]
    found = find_done(cells, [stored, foreign, elsewhere, half], identify)
    assert found == {"abc": stored, "vvv": foreign}
    assert asked == [foreign], "no time is spent on runs that cannot be cells"


@pytest.mark.parametrize(
    ("study", "cells"),
    [
        ("inductive_bias_gap", 27),
        ("leaking_split", 27),
        ("fair_recipe", 72),
        ("input_scale", 12),
        ("convolution_stem", 9),
    ],
)
def test_shipped_results_are_whole_and_small(study, cells, pytestconfig):
    root = pytestconfig.rootpath / "docs/results" / study
    found = collect([root])
    assert not found.left_out
    assert found.fingerprint == "a440b1ff48c5043e"
    plan = read_study(pytestconfig.rootpath / f"configs/study/{study}.yaml")
    assert found.study["fractions"] == list(plan.fractions)
    assert found.study["seeds"] == list(plan.seeds)
    assert found.study["hypotheses"] == [dict(one) for one in plan.hypotheses]
    assert len(found.missing) == cells - len(found.runs)
    for run in found.runs:
        size = sum(f.stat().st_size for f in run.path.rglob("*") if f.is_file())
        assert size < LIMIT + (len(run.methods) - 1) * LIMIT_OF_METHOD
        assert abs(run.predictions.correct.mean() - run.summary["test"]["acc"]) < 1e-9
        assert set(run.focus_samples.resolution) == {"native", "matched"}
        assert json.loads((run.path / "cell.json").read_text())["model"] == run.model
