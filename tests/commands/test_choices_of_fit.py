"""Options that are ``auto``: chosen once, said, written, and used by whoever goes on."""

from pathlib import Path

import pytest
import torch
import yaml

from fer_lightning.api import training_run
from fer_lightning.training.compiled import Trial
from fer_lightning.training.module import Classifier


def config(run="vit-seed42"):
    return yaml.safe_load(Path("runs", run, "config.yaml").read_text())


@pytest.fixture(autouse=True)
def threads():
    number = torch.get_num_threads()
    yield number
    torch.set_num_threads(number)


def test_threads_are_chosen_once(fit, run, monkeypatch):
    monkeypatch.setattr(training_run, "choose_threads", lambda most: (2, "two are idle"))
    torch.set_num_threads(1)
    code, _, err = fit("--threads=auto")
    assert code == 0
    assert "Threads: 2, because two are idle" in err
    assert config()["threads"] == torch.get_num_threads() == 2
    monkeypatch.setattr(training_run, "choose_threads", lambda most: (1, "one is idle"))
    Path("runs/vit-seed42/summary.json").unlink()  # as if it had been interrupted
    code, _, err = fit("--threads=auto", "--resume")
    assert code == 0
    assert "because" not in err
    assert config()["threads"] == torch.get_num_threads() == 2
    assert [path.name for path in Path("runs").iterdir()] == ["vit-seed42"]
    torch.set_num_threads(1)
    code, _, err = run("fit", "--config=runs/vit-seed42/config.yaml", "--run_name=again")
    assert code == 0
    assert config("again")["threads"] == torch.get_num_threads() == 2


def test_a_config_of_a_study_that_leaves_them_open_is_completed(fit, run, monkeypatch):
    monkeypatch.setattr(training_run, "choose_threads", lambda most: (1, "one is idle"))
    code, _, _ = fit("--threads=1")
    folder = Path("runs/vit-seed42")
    text = yaml.safe_dump(config() | {"threads": "auto"})
    cell = Path("cell")
    cell.mkdir()
    (cell / "config.yaml").write_text(text)  # as a study writes it before the training
    code, _, err = run("fit", "--config=cell/config.yaml", "--resume=cell")
    assert code == 0
    assert "Threads: 1, because one is idle" in err
    assert yaml.safe_load((cell / "config.yaml").read_text())["threads"] == 1
    assert (cell / "metrics.csv").is_file()
    assert folder.is_dir()


def test_an_impossible_number_is_refused(fit):
    code, _, err = fit("--threads=0")
    assert code == 2
    assert "threads" in err
    assert not Path("runs").exists()


@pytest.mark.parametrize("pays", [True, False])
def test_compiling_is_chosen_once(fit, monkeypatch, pays):
    asked = []

    def choose(module, trainer, data):
        asked.append(module)
        return Trial(1000, 1.0, 0.5 if pays else 2.0)

    monkeypatch.setattr(Classifier, "choose_compiled", choose)
    compiled = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, **kwargs: compiled.append(self))
    code, _, err = fit("--model.compile=auto")
    assert code == 0
    assert f"Compiled: {'yes' if pays else 'no'}, a step takes" in err
    assert config()["model"]["compile"] is pays
    Path("runs/vit-seed42/summary.json").unlink()
    code, _, err = fit("--model.compile=auto", "--resume")
    assert code == 0
    assert len(asked) == 1
    assert len(compiled) == pays  # by the resumed run
    assert config()["model"]["compile"] is pays


def test_a_short_run_is_not_compiled(fit):
    code, _, err = fit("--model.compile=auto")
    assert code == 0
    assert "Compiled: no, the run is too short for it" in err
    assert config()["model"]["compile"] is False
