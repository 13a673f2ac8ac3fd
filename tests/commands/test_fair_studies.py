"""The studies of a fair fight: their plans, and the small ones from trainings to verdicts."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from in_process import InProcessWorkers

from fer_lightning.commands.resolve import resolve
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.execution.study.cells import make_cells
from fer_lightning.execution.study.plan import read_study
from fer_lightning.hypotheses import read_asked
from fer_lightning.report.sections.ingredients import ingredients
from fer_lightning.report.sections.registry import Material
from fer_lightning.report.sections.verdicts import judged
from fer_lightning.runs.collection import collect

STUDIES = Path(__file__).parents[2] / "configs/study"
FAIR = {"fair_recipe": 72, "closing_the_gap": 36, "equal_steps": 18}


# of made-up trainings: half of the paper's lead is recipe, and the hybrid passes the CNN
ACCURACY = {"cnn": 0.6, "vit": 0.3, "vit_standard": 0.4}
ACCURACY |= {"cnn_fair": 0.65, "vit_fair": 0.5, "hybrid_vit_fair": 0.7}
IMAGES = 700


class MadeUp(InProcessWorkers):
    """Writes what a training would leave, with a known accuracy."""

    def train(self, folder):
        cell = json.loads((folder.path / "cell.json").read_text())
        names = (cell["model"], cell["seed"], sum(map(ord, cell["model"])))
        labels = np.arange(IMAGES) % 7
        right = np.arange(IMAGES) < ACCURACY[names[0]] * IMAGES
        right = np.random.default_rng(names[1:]).permutation(right)
        logits = np.eye(7, dtype=np.float32)[np.where(right, labels, (labels + 1) % 7)]
        rows = {"row": np.arange(IMAGES), "label": labels, "logits": logits}
        np.savez(folder.path / "predictions.npz", **rows)
        facts = {"fingerprint": "f", "processes": 1, "fraction": 1.0, "seed": names[1]}
        facts |= {"model": names[0], "data": "made up", "best_epoch": 0, "epochs": 1}
        facts |= {"parameters": 800_000, "seconds": 1.0, "classes": list(FER_CLASSES)}
        facts["val"] = facts["test"] = {"acc": float(right.mean())}
        (folder.path / "run.json").write_text(json.dumps(facts))
        (folder.path / "summary.json").write_text(json.dumps(facts))
        return 0


@cache
def cells_of(name):
    return make_cells(read_study(STUDIES / f"{name}.yaml"), resolve, lambda config: "f")


@pytest.mark.parametrize("name", FAIR)
def test_the_plan(name):
    study = read_study(STUDIES / f"{name}.yaml")
    assert len(cells_of(name)) == FAIR[name]
    assert read_asked(study.hypotheses, [model.name for model in study.models])


def test_ingredients_lead_from_the_papers_recipe_to_the_fair_one():
    configs = {cell.model: cell.config for cell in cells_of("fair_recipe")}
    path = ("vit", "vit_standard", "vit_standard_schedule", "vit_standard_schedule_decay")
    changes = []
    for before, after in zip(path, (*path[1:], "vit_fair"), strict=True):
        one, other = (dict(flat(configs[name])) for name in (before, after))
        changes.append({k: other[k] for k in one if one[k] != other[k]})
    assert changes == [
        {"data.scale": "standard"},
        {"model.schedule": "cosine", "model.warmup_epochs": 5.0, "early_stopping.patience": 30},
        {"model.optimizer": "adamw", "model.weight_decay": 0.05},
        {"model.label_smoothing": 0.1},
    ]


def flat(config):
    for section in ("model", "data", "trainer", "early_stopping"):
        for option, value in config[section].items():
            yield f"{section}.{option}", str(value) if isinstance(value, dict | list) else value


def test_made_up_trainings_lead_to_the_verdicts_that_they_must(run, monkeypatch, tmp_path):
    """The small study with five seeds, from its file to its verdicts; only trainings are fakes."""
    text = (STUDIES / "fair_recipe_drawn.yaml").read_text()
    text = text.replace("../", "").replace("seeds: [42, 43]", "seeds: [1, 2, 3, 4, 5]")
    (tmp_path / "mine.yaml").write_text(text)
    monkeypatch.setattr("fer_lightning.commands.study.LocalWorkers", MadeUp)
    monkeypatch.setattr("fer_lightning.commands.study.write_report", lambda found, out: [out])
    code, out, err = run("study", "mine.yaml")
    assert code == 0, out + err
    found = collect([Path("runs/fair_recipe_drawn")])
    assert len(found.runs) == 30
    verdicts = {f"{v.hypothesis} {v.statement[:9]}": v.outcome for v in judged(found)}
    assert verdicts == {
        "H1a cnn is ah": "supported",
        "H4 the lead ": "supported",
        "H5 hybrid_vi": "supported",
    }
    (table,) = ingredients(Material(found))
    columns = [table.columns.index(c) for c in ("way", "ahead", "behind", "lead")]
    assert [tuple(row[c] for c in columns) for row in table.rows] == [
        ("the paper's recipe", "cnn", "vit", 30.0),
        ("one at a time", "cnn", "vit_standard", 20.0),
        ("in order", "cnn", "vit_standard", 20.0),
        ("in order", "cnn", "vit_fair", 10.0),
        ("in order", "cnn_fair", "vit_fair", 15.0),
    ]
    taken = table.columns.index("taken from the lead")
    assert [row[taken] for row in table.rows] == [None, 10.0, 10.0, 10.0, -5.0]
    for row in table.rows[1:]:
        assert row[taken + 1] < row[taken] < row[taken + 2]


@pytest.mark.slow  # fourteen trainings, two pages
@pytest.mark.filterwarnings("ignore")
def test_the_small_studies_from_trainings_to_verdicts(run, monkeypatch):
    monkeypatch.setattr("fer_lightning.commands.study.LocalWorkers", InProcessWorkers)
    code, out, err = run("study", "fair_recipe_drawn")
    assert code == 0, out + err
    folder = Path("runs/fair_recipe_drawn")
    verdicts = pd.read_csv(folder / "tables/verdicts.csv").fillna("")
    assert list(verdicts["hypothesis"]) == ["H1a", "H1a", "H4", "H5"]
    assert set(verdicts["outcome"]) == {"undecided"}  # 14 test faces
    assert not set(verdicts["undecided for"]) & {"missing", ""}
    assert verdicts["undecided for"].iloc[-1] == "no effect"  # no gap that could be closed
    table = pd.read_csv(folder / "tables/ingredients.csv")
    assert list(table["behind"]) == [
        *("vit", "vit_standard"),  # the paper's recipe; one at a time
        *("vit_standard", "vit_fair", "vit_fair"),  # in order
    ]
    steps = table[table["way"] == "in order"]["taken from the lead"].sum()
    assert steps == pytest.approx(table["lead"].iloc[0] - table["lead"].iloc[-1], abs=0.03)

    code, out, err = run("study", "closing_the_gap_drawn", "--results", folder)
    assert code == 0, out + err
    second = Path("runs/closing_the_gap_drawn")
    cells = json.loads((second / "study.json").read_text())["cells"]
    trained = [cell["model"] for cell in cells if not cell["folder"].startswith("..")]
    assert trained == ["regularised_vit_fair"] * 2
    verdicts = pd.read_csv(second / "tables/verdicts.csv")
    assert list(verdicts["outcome"]) == ["undecided", "undecided"]
