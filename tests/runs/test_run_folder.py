import pytest

from fer_lightning.errors import UserError
from fer_lightning.runs.find import find_runs
from fer_lightning.runs.folder import atomic, new_run_folder, unfinished_run, write_json


def test_taken_names_get_numbers(tmp_path):
    assert [new_run_folder(tmp_path, "a").path.name for _ in range(3)] == ["a", "a-2", "a-3"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, {"old": 1})
    with pytest.raises(TypeError):
        write_json(path, {"new": object()})
    assert path.read_text() == '{\n "old": 1\n}'
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_write_is_no_file(tmp_path):
    def write():
        with atomic(tmp_path / "x") as file:
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert list(tmp_path.iterdir()) == []


def test_the_unfinished_run_of_the_same_config_is_found(tmp_path):
    folders = [new_run_folder(tmp_path, "a") for _ in range(3)]
    for folder, config in zip(folders, ("same", "same", "other"), strict=True):
        folder.config.write_text(config)
    folders[1].summary.write_text("{}")
    assert unfinished_run(tmp_path, "same") == folders[0]
    folders[0].summary.write_text("{}")
    assert unfinished_run(tmp_path, "same") is not None  # complete: shown again
    assert unfinished_run(tmp_path, "new") is None
    assert unfinished_run(tmp_path / "nowhere", "same") is None


def test_unwritable(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"expected to write runs below .*--runs_dir"):
        new_run_folder(tmp_path / "file" / "runs", "a")
    with pytest.raises(UserError, match=r"expected a folder for runs but .* is a file"):
        new_run_folder(tmp_path / "file", "a")


def test_a_folder_of_predict_is_no_run(tmp_path):
    """Nor is what W&B keeps inside of it."""
    for name in ("predict-vit", "predict-vit/wandb/files", "fit"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.yaml").touch()
    (tmp_path / "predict-vit" / "predictions.csv").touch()
    assert [*find_runs(tmp_path)] == ["fit"]
    assert find_runs(tmp_path / "predict-vit") == {}
    (tmp_path / "predict-vit" / "summary.json").touch()
    assert [*find_runs(tmp_path)] == ["fit", "predict-vit"]
