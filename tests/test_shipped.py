"""Shipped configs, studies and sweeps are found by name from any folder."""

from pathlib import Path

import pytest

from fer_lightning import shipped
from fer_lightning.errors import UserError
from fer_lightning.shipped import (
    KINDS,
    about,
    find,
    find_any,
    find_beside,
    names,
    with_shipped_configs,
)

ROOT = Path(__file__).parents[1]
EVERY = [(kind, name) for kind in KINDS for name in names(kind)]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_file_has_one_name():
    files = {*(ROOT / "configs").rglob("*.yaml"), *(ROOT / "sweeps").rglob("*.yaml")}
    named = [names(kind)[name].resolve() for kind, name in EVERY]
    assert sorted(named) == sorted(files)


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_spellings(kind, name):
    path = names(kind)[name]
    assert find(name, kind) == path
    assert find(f"{name}.yaml", kind) == path
    assert find(f"{KINDS[kind]}/{name}.yaml", kind) == path
    assert find(Path(KINDS[kind], name), kind) == path
    assert find_any(f"{KINDS[kind]}/{name}") == path


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_comments_open_with_a_sentence(kind, name):
    text = about(names(kind)[name])
    assert len(text) > 20
    assert text[-1] in ".?"


@pytest.mark.parametrize("own", ["vit", "vit.yaml", "configs/vit.yaml"])
def test_a_file_of_the_users_wins(own):
    Path(own).parent.mkdir(exist_ok=True)
    Path(own).touch()
    assert find(own, "config") == Path(own)


def test_a_folder_of_the_same_name_hides_nothing():
    Path("vit").mkdir()
    assert find("vit", "config").name == "vit.yaml"


@pytest.mark.parametrize(
    ("given", "kind", "sentence"),
    [
        ("vti", "config", r"expected a config file .* but got 'vti'; did you mean 'vit'\?"),
        ("configs/vti.yaml", "config", r"got 'configs/vti.yaml'; did you mean 'vit'\?"),
        ("drawn_face", "study", r"expected a study file .*; did you mean 'drawn_faces'\?"),
        ("mine/of/january.yaml", "config", "fer-lightning configs lists them"),
        ("study/drawn_faces", "config", "it is a study: fer-lightning study drawn_faces"),
        ("learning_rate", "study", "it is a sweep: fer-lightning sweep learning_rate"),
        ("vit", "sweep", "it is a config: fer-lightning fit --config vit"),
        ("../errors.py", "config", "fer-lightning configs lists them"),
        ("x" * 10_000, "config", "fer-lightning configs lists them"),
    ],
)
def test_unknown_names(given, kind, sentence):
    with pytest.raises(UserError, match=sentence):
        find(given, kind)


def test_unknown_name_of_any_kind():
    with pytest.raises(UserError, match=r"got 'learning_rat'; did you mean 'learning_rate'\?"):
        find_any("learning_rat")


@pytest.mark.parametrize(
    "words", [["--config", "vit"], ["--config=vit"], ["-c", "vit"], ["-c=configs/vit.yaml"]]
)
def test_options_of_fit(words):
    written = with_shipped_configs(["fit", *words, "--model.net", "vit"])
    assert [word.rpartition("=")[2] for word in written].count(str(names("config")["vit"])) == 1
    assert written[-2:] == ["--model.net", "vit"]
    assert len(written) == len(words) + 3


@pytest.mark.parametrize("words", [["--config={trainer: {}}"], ["--config", "trainer: {}"]])
def test_yaml_in_place_of_a_file_is_left_alone(words):
    assert with_shipped_configs(words) == words


@pytest.mark.parametrize("words", [["--config"], ["--config="], ["--config", "--resume"]])
def test_a_missing_value_is_left_to_the_parser(words):
    assert with_shipped_configs(words) == words


def test_configs_of_a_study_file(tmp_path):
    (tmp_path / "cnn").touch()
    assert find_beside(tmp_path, "cnn") == tmp_path / "cnn"
    assert find_beside(tmp_path, "vit") == names("config")["vit"]
    assert find_beside(names("study")["drawn_faces"].parent, "../cnn.yaml").is_file()


def test_a_wheel_carries_them_inside_of_the_package(tmp_path, monkeypatch):
    package = tmp_path / "site-packages/fer_lightning"
    (package / "configs/cifar").mkdir(parents=True)
    for path in (package / "configs/cifar/a.yaml", package.parent / "configs/b.yaml"):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    monkeypatch.setattr(shipped, "__file__", str(package / "shipped.py"))
    assert list(names("config")) == ["cifar/a"]
