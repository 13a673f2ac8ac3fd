"""``fer-lightning study`` without any training: plan, dry run, results, export, sweep, mistakes."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from fer_lightning.commands.resolve import resolve
from fer_lightning.commands.study import identify
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.execution.study.cells import make_cells
from fer_lightning.execution.study.plan import read_study
from fer_lightning.execution.study.results import find_done
from fer_lightning.report.sections.verdicts import judged
from fer_lightning.runs.collection import collect
from fer_lightning.runs.find import runs_below

ROOT = Path(__file__).parents[2]
STUDY = """
name: tiny
models:
  vit: {overrides: {model.net.dim: 16, model.net.depth: 1, model.net.heads: 2}}
  wide: {config: wide.yaml, overrides: {model.net.dim: 32}}
overrides:
  data.source: drawn
  data.drawn.size: 140
  trainer.max_epochs: 2
  trainer.callbacks: []
  wandb.mode: disabled
fractions: [0.5, 1.0]
seeds: [1]
focus: {samples: null}
hypotheses: [{hypothesis: H1a, first: vit, second: wide}]
"""
WIDE = {
    "model": {
        "net": {"class_path": "fer_lightning.models.ViT", "init_args": {"depth": 1, "heads": 2}}
    }
}
FINGERPRINT = "cd58a3c32e9ac6e3"  # of 140 drawn faces


@pytest.fixture
def study(run, tmp_path):
    (tmp_path / "wide.yaml").write_text(yaml.safe_dump(WIDE))

    def call(*options, change=("", "")):
        (tmp_path / "tiny.yaml").write_text(STUDY.replace(*change))
        return run("study", "tiny.yaml", *options)

    return call


@pytest.fixture
def finished(study, tmp_path):
    """A finished run of vit at 50 %, as an agent of a sweep leaves it: without cell.json."""
    study("--sweep-file", "sweep.yaml")
    folder = tmp_path / "done/some-name"
    folder.mkdir(parents=True)
    config = yaml.safe_load((tmp_path / "sweep-vit.yaml").read_text())
    config["data"]["fraction"] = 0.5
    config["seed_everything"] = 1
    del config["data"]["augmentation"]["crop"]  # an option that did not exist at that time
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    facts = {"fingerprint": FINGERPRINT, "processes": 1, "fraction": 0.5, "seed": 1}
    measured = {"acc": 0.5, "macro_f1": 0.4}
    summary = facts | {"model": "vit", "best_epoch": 0, "epochs": 2, "seconds": 3.0}
    summary["classes"] = list(FER_CLASSES)
    text = json.dumps(summary | {"val": measured, "test": measured})
    (folder / "summary.json").write_text(text)
    (folder / "run.json").write_text(json.dumps(facts))
    np.savez(
        folder / "predictions.npz",
        row=np.arange(4),
        label=np.array([0, 1, 0, 1]),
        logits=np.eye(7, dtype=np.float32)[[0, 1, 1, 0]],
    )
    return folder


def test_a_dry_run_shows_cells_and_time_and_trains_nothing(study, finished, tmp_path):
    code, out, _ = study("--dry-run", "--results", "done")
    assert code == 0
    rows = {line.split()[1]: line.split()[3] for line in out.splitlines() if "pct-seed" in line}
    assert rows == {
        "vit-50pct-seed1": "done",
        "wide-50pct-seed1": "waiting",
        "vit-100pct-seed1": "waiting",
        "wide-100pct-seed1": "waiting",
    }
    assert "1 of 4 cells are done" in out
    assert "estimate" in out
    assert "1.0 points, assumed, for no model has two finished seeds" in out
    assert "H1a (vit, wide; 2 tests): found in 80 % of studies is a difference of 3 points" in out
    assert "with the one planned nothing is decided" in out
    assert not (tmp_path / "runs").exists()


def test_an_edit_makes_a_finished_run_another(study, finished):
    _, out, _ = study("--dry-run", "--results", "done", change=("model.net.dim: 16", "model.lr: 1"))
    assert "0 of 4 cells are done" in out


def test_export_of_what_is_done(study, finished, tmp_path):
    code, out, _ = study("--results", "done", "--export", "docs")
    assert code == 0
    assert "1 of 4 cells are done" in out
    shutil.rmtree(finished)
    _, out, _ = study("--results", "docs", "--dry-run", "--only", "fraction=0.5")
    assert "1 of 2 cells are done" in out
    assert (tmp_path / "docs/vit-50pct-seed1/cell.json").is_file()


def test_exported_results_carry_their_plan(study, finished, tmp_path):
    study("--results", "done", "--export", "docs", "--only", "model=vit")
    text = (tmp_path / "docs/study.json").read_text()
    assert str(tmp_path) not in text
    plan = json.loads(text)
    assert (plan["name"], plan["fractions"], plan["seeds"]) == ("tiny", [0.5, 1.0], [1])
    assert plan["hypotheses"] == [{"hypothesis": "H1a", "first": "vit", "second": "wide"}]
    found = collect([tmp_path / "docs"])
    assert [run.name for run in found.runs] == ["vit-50pct-seed1"]
    assert found.missing == ("wide-50pct-seed1", "vit-100pct-seed1", "wide-100pct-seed1")
    assert judged(found)[-1].reason == "Of 2 planned: undecided at 2 fractions."
    (tmp_path / "docs/study.json").unlink()
    assert collect([tmp_path / "docs"]).missing == ()


def test_results_of_another_study_are_not_mixed(study, finished, tmp_path):
    study("--results", "done", "--export", "docs")
    code, _, err = study("--results", "done", "--export", "docs", change=("name: tiny", "name: x"))
    assert code == 2
    assert "results of the study x or nothing at docs but its study.json is of 'tiny'" in err
    assert json.loads((tmp_path / "docs/study.json").read_text())["name"] == "tiny"


def test_what_stands_in_for_something_is_told(study, finished):
    summary = json.loads((finished / "summary.json").read_text())
    text = json.dumps(summary | {"substitutions": ["drawn faces instead of FER-2013"]})
    (finished / "summary.json").write_text(text)
    code, out, _ = study("--results", "done", "--only", "model=vit,fraction=0.5")
    assert code == 0
    assert "\nNote: drawn faces instead of FER-2013\n" in out


def test_a_finished_study_is_a_run_on_wandb(study, finished, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    only = ("--only", "model=vit,fraction=0.5")
    code, out, _ = study("--results", "done", *only, "--wandb", "faces")
    assert code == 0
    assert "W&B offline; to upload it later: wandb sync runs/tiny/wandb/offline-run-*" in out
    media = next(Path("runs/tiny/wandb").glob("offline-run-*/files/media"))
    shown = {path.name.split("_")[0] for path in (media / "table" / "tables").glob("*.table.json")}
    assert {path.stem.split("_")[0] for path in Path("runs/tiny/tables").glob("*.csv")} == shown
    assert "tiny" in next(media.rglob("report*.html")).read_text()


def test_the_same_matrix_as_a_sweep(study, tmp_path):
    assert study("--sweep-file", "sweeps/tiny.yaml")[0] == 0
    sweep = yaml.safe_load((tmp_path / "sweeps/tiny.yaml").read_text())
    assert sweep["method"] == "grid"
    assert sweep["command"][2:] == ["-m", "fer_lightning.cli", "fit", "${args}"]
    assert next(iter(sweep["parameters"])) == "config", "later options win over it"
    assert sweep["parameters"]["data.fraction"]["values"] == [0.5, 1.0]
    wide = yaml.safe_load((tmp_path / "sweeps/tiny-wide.yaml").read_text())
    assert wide["model"]["net"]["init_args"]["dim"] == 32


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("vit", "vti"), "model vti of tiny.yaml: .*did you mean 'vit'"),
        (("model.net.dim: 32", "model.net.dmi: 32"), "model wide of tiny.yaml: .*dmi"),
        (("data.source: drawn\n", "data.source: auto\n"), "expected the images of the study"),
        (("first: vit", "first: vti"), "did you mean 'vit'"),
    ],
)
def test_mistakes_in_the_file(study, change, why):
    code, _, err = study("--dry-run", change=change)
    assert code == 2
    assert re.search(why, err), err
    assert len(err.strip().splitlines()) == 1


def test_two_models_that_are_the_same_training(study):
    same = "overrides: {model.net.dim: 16, model.net.depth: 1, model.net.heads: 2}"
    code, _, err = study(
        "--dry-run", change=("config: wide.yaml, overrides: {model.net.dim: 32}", same)
    )
    # without a config its name must be a model's
    assert code == 2
    assert "wide" in err
    code, _, err = study("--dry-run", change=("model.net.dim: 32", "model.net.dim: 16"))
    assert code == 2
    assert "vit-50pct-seed1 and wide-50pct-seed1 are the same training" in err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--only", "modle=vit"), "did you mean 'model'"),
        (("--only", "model=cnn"), "expected cells that --only chooses"),
        (("--only", "seed=x"), "expected a number"),
        (("--results", "nowhere"), "expected a folder of results"),
        (("--export", "docs", "--focus-from", "vit=x"), "expected CELL=FOLDER"),
        (("--out", "tiny.yaml"), "is a file"),
    ],
)
def test_mistakes_in_the_options(study, options, why):
    code, _, err = study("--dry-run", *options)
    assert code == 2
    assert why in err


@pytest.mark.parametrize(
    ("name", "models"), [("inductive_bias_gap", "cnn vit swin"), ("leaking_split", "cnn vit")]
)
def test_a_shipped_study_goes_on_from_its_shipped_results(name, models):
    study = read_study(ROOT / f"configs/study/{name}.yaml")
    cells = make_cells(study, resolve, lambda config: "a440b1ff48c5043e")
    assert len(cells) == 27
    names = {cell.identity: cell.name for cell in cells}
    found = find_done(cells, runs_below(study.results), identify)
    assert {names[known]: path.name for known, path in found.items()} == {
        path.name: path.name for path in runs_below(study.results)
    }
    first = {f"{model}-30pct-seed42" for model in models.split()}
    assert first <= set(map(names.get, found))


def test_the_small_study_has_eight_cells():
    study = read_study(ROOT / "configs/study/drawn_faces.yaml")
    cells = make_cells(study, resolve, lambda config: "f")
    assert len(cells) == 8
    assert {cell.config["data"]["drawn"]["size"] for cell in cells} == {1400}
