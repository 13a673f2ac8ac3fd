"""``fer-lightning configs``, and commands that take what it lists in an empty folder."""

from pathlib import Path

import pytest

from fer_lightning.commands.resolve import resolve
from fer_lightning.execution.study.plan import read_study
from fer_lightning.shipped import KINDS, names

STUDY = """
models: {vit: {config: vit}, small: {config: [configs/vit.yaml, smoke]}}
fractions: [1.0]
seeds: [42]
"""


def test_lists_everything_in_80_columns(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run("configs")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    words = out.split()
    assert all(name in words for kind in KINDS for name in names(kind))
    assert "An overlay that makes any run take seconds" in out


def test_prints_one_file_or_where_it_lies(run):
    path = names("sweep")["learning_rate"]
    assert run("configs", "learning_rate") == (0, path.read_text(), "")
    assert run("configs", "sweeps/learning_rate.yaml", "--path") == (0, f"{path}\n", "")


@pytest.mark.parametrize("command", ["fit", "validate", "test", "predict"])
def test_mistyped_config(run, command):
    code, _, err = run(command, "--config", "vti")
    assert code == 2
    assert err == (
        "error: expected a config file or the name of a shipped one but got 'vti'; "
        "did you mean 'vit'?\n"
    )


@pytest.mark.parametrize(("command", "near"), [("study", "drawn_faces"), ("sweep", "augmentation")])
def test_mistyped_study_and_sweep(run, command, near):
    code, _, err = run(command, near[:-2])
    assert code == 2
    assert f"did you mean '{near}'?" in err


def test_names_mean_the_files(run):
    files = [f"--config={names('config')[name]}" for name in ("vit", "smoke")]
    assert resolve(["--config", "vit", "--config=configs/smoke.yaml"]) == resolve(files)


def test_a_study_of_shipped_configs(run):
    Path("mine.yaml").write_text(STUDY)
    assert [model.configs for model in read_study(Path("mine.yaml")).models] == [
        (names("config")["vit"],),
        (names("config")["vit"], names("config")["smoke"]),
    ]


def test_a_sweep_whose_command_names_configs(run):
    code, out, err = run("sweep", "learning_rate", "--count", "1", "--dry-run")
    assert (code, err) == (0, "")
    assert "--config=configs/" in out
    assert not Path("runs").exists()
