"""Folders that somebody else wrote: nothing of them runs."""

import pytest
import yaml

from fer_lightning.commands.study import identify
from fer_lightning.errors import UserError
from fer_lightning.execution.study.cells import Cell, CellFolder
from fer_lightning.execution.study.results import find_done
from fer_lightning.runs.foreign import check_classes, file_name, foreign_classes
from fer_lightning.runs.run import Run


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """A folder of results whose configuration names a module beside it, which tells if it runs."""
    (tmp_path / "evil_module.py").write_text(
        "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n"
        "from lightning import Callback\nclass Evil(Callback): pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "run"
    folder.mkdir()
    net = {"class_path": "fer_lightning.models.ViT"}
    callbacks = [{"class_path": "evil_module.Evil"}]
    evil = {"trainer": {"callbacks": callbacks}, "model": {"net": net}}
    (folder / "config.yaml").write_text(yaml.safe_dump(evil))
    return folder


def test_code_that_a_folder_of_results_names_does_not_run(hostile):
    run = Run(hostile, "vit", 1.0, 1, summary={"processes": 1, "fingerprint": "f"})
    with pytest.raises(UserError, match=r"names evil_module\.Evil; .* unless a study says --trust"):
        identify(run)
    cell = Cell("vit", 1.0, 1, "wanted", {})
    assert find_done([cell], [hostile], identify) == {}
    assert not (hostile.parent / "ran").exists()
    identify(run, trust=True)
    assert (hostile.parent / "ran").exists()


def test_a_half_done_cell_of_somebody_else_is_refused(hostile):
    with pytest.raises(UserError, match=r"evil_module\.Evil"):
        CellFolder(hostile).prepare(Cell("vit", 1.0, 1, "i", {"model": {"net": "vit"}}))
    # what the study itself names is the user's own word
    config = {"trainer": {"callbacks": [{"class_path": "evil_module.Evil"}]}}
    CellFolder(hostile).prepare(Cell("vit", 1.0, 1, "i", config))


@pytest.mark.parametrize(
    "config",
    [
        {"model": {"net": "os.system"}},
        {"model": {"net": {"class_path": "mine.Net", "init_args": {"a": 1}}}},
        {"trainer": {"callbacks": {"class_path": "mine.Callback"}}},
        {"trainer": {"plugins": ["mine.Plugin"]}},
    ],
)
def test_all_ways_to_name_a_class_are_seen(config):
    assert len(foreign_classes(config)) == 1


def test_ours_and_plain_words_pass(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(
        "model: {net: {class_path: fer_lightning.models.ViT}, lr: 0.1}\n"
        "trainer: {strategy: auto, callbacks: [{class_path: lightning.pytorch.callbacks.Timer}]}\n"
        "data: {data_dir: some.zip}\n"
    )
    check_classes(path)


@pytest.mark.parametrize("text", ["../x", "/etc/passwd", "a\\b", ".hidden", "-rf", "", "x" * 300])
def test_names_become_names_of_files_in_one_folder(text, tmp_path):
    name = file_name(text)
    path = tmp_path / name
    path.touch()
    assert path.resolve().parent == tmp_path.resolve()
    assert not name.startswith((".", "-"))
    assert len(name) <= 89


def test_different_names_stay_different():
    assert len({file_name(text) for text in ("a b", "a_b", "a/b", "a:b")}) == 4
