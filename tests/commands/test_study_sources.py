"""Models of a study that start from what another one learned, trained for real and small."""

import json
from pathlib import Path

import pytest
from in_process import InProcessWorkers

from fer_lightning.commands.resolve import resolve
from fer_lightning.execution.study.cells import Start, make_cells, make_sources
from fer_lightning.execution.study.plan import read_study

STUDY = """
name: starts
sources:
  other_faces:
    config: vit.yaml
    overrides: {data.drawn.seed: 5, DRAWN}
models:
  vit: {config: vit.yaml}
  vit_pretrained: {config: vit.yaml, start: {weights: other_faces}}
overrides: {DRAWN}
fractions: [1.0]
seeds: [1, 2]
focus: {samples: null}
hypotheses: [{hypothesis: H1a, first: vit_pretrained, second: vit}]
"""
DRAWN = (
    "data.source: drawn, data.drawn.size: 70, trainer.max_epochs: 1, model.net.dim: 16, "
    "model.net.depth: 1, model.net.heads: 2, "
    "trainer.callbacks: [], wandb.mode: disabled, tensorboard: false"
)


@pytest.fixture
def study(run, tmp_path, monkeypatch):
    monkeypatch.setattr("fer_lightning.commands.study.LocalWorkers", InProcessWorkers)
    (tmp_path / "vit.yaml").write_text("model: {net: {class_path: fer_lightning.models.ViT}}\n")

    def call(*options, change=("", "")):
        text = STUDY.replace("DRAWN", DRAWN).replace(*change)
        (tmp_path / "starts.yaml").write_text(text)
        return run("study", "starts.yaml", *options)

    return call


def folders(place="runs/starts"):
    return {path.name.rsplit("-", 1)[0]: path for path in Path(place).iterdir() if path.is_dir()}


def test_sources_are_trained_first_and_models_start_from_them(study):
    code, _, err = study("--only", "seed=1")
    assert code == 0, err
    (source,), cells = folders("runs/starts/sources").values(), folders()
    start = json.loads((cells["vit_pretrained-100pct-seed1"] / "run.json").read_text())
    (loaded,) = start["transfer"]
    assert Path(loaded["file"]) == (source / "checkpoints/best.ckpt").resolve()
    assert "transfer" not in json.loads((cells["vit-100pct-seed1"] / "run.json").read_text())

    # what is done needs its source no more
    (source / "checkpoints/best.ckpt").unlink()
    before = (source / "summary.json").stat().st_mtime_ns
    assert "2 of 2 cells are done" in study("--only", "seed=1", "--dry-run")[1]
    assert study("--only", "seed=1")[0] == 0
    assert (source / "summary.json").stat().st_mtime_ns == before


def test_another_source_is_another_cell(study, tmp_path):
    def identities(**change):
        study("--only", "seed=9", **change)  # writes the file and chooses nothing
        plan = read_study(tmp_path / "starts.yaml")
        sources = make_sources(plan, resolve, lambda config: str(config["data"]["drawn"]["seed"]))
        starts = {(c.model, c.seed): Start(c.identity, Path("best.ckpt")) for c in sources}
        cells = make_cells(plan, resolve, lambda config: "f", sources=starts)
        return {cell.name: cell.identity for cell in (*sources, *cells)}

    first = identities()
    other = identities(change=("data.drawn.seed: 5", "data.drawn.seed: 6"))
    assert {name for name in first if first[name] != other[name]} == {
        f"{name}-100pct-seed{seed}" for name in ("other_faces", "vit_pretrained") for seed in (1, 2)
    }


def test_without_its_source_a_model_waits(study, monkeypatch):
    def fails(self, folder):
        return int(folder.path.name.startswith("other_faces"))

    monkeypatch.setattr(InProcessWorkers, "train", fails)
    code, out, _ = study("--only", "seed=1")
    assert code == 1
    assert "other_faces-100pct-seed1 failed" in out
    assert "vit_pretrained-100pct-seed1 was not trained: what it starts from is missing" in out
    assert set(folders()) == {"vit-100pct-seed1", "sources"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("weights: other_faces", "weights: others"), "'others'; did you mean 'other_faces'"),
        (("weights: other_faces", "head: other_faces"), "start"),
    ],
)
def test_mistakes(study, change, why):
    code, _, err = study("--dry-run", change=change)
    assert code == 2
    assert why in err


def test_a_sweep_has_no_sources(study):
    code, _, err = study("--sweep-file", "sweep.yaml")
    assert code == 2
    assert "which must be trained first" in err
