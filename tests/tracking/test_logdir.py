import pytest
from fake_run import write_run

from fer_lightning.errors import UserError
from fer_lightning.runs.find import find_runs
from fer_lightning.runs.folder import RunFolder
from fer_lightning.tracking.dashboard import Logdir
from fer_lightning.tracking.tensorboard import TensorBoardTracker


@pytest.fixture
def place(tmp_path):
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


def with_events(folder):
    folder.mkdir(parents=True)
    tracker = TensorBoardTracker(RunFolder(folder))
    tracker.log_metrics({"epoch": 0, "val/acc": 0.5})
    tracker.finish()


def test_runs_with_events_are_linked_and_others_converted(tmp_path, place):
    with_events(tmp_path / "runs/study/a")
    write_run(tmp_path / "runs/b")
    logdir = Logdir(tmp_path / "runs", place)
    assert logdir.refresh() == []
    assert (place / "study/a").resolve() == (tmp_path / "runs/study/a/tensorboard").resolve()
    assert not (place / "b").is_symlink()
    assert list((place / "b").glob("events*"))
    assert logdir.unfinished() == ["study/a"]


def test_new_runs_appear_and_empty_ones_wait(tmp_path, place):
    (tmp_path / "runs/a").mkdir(parents=True)
    (tmp_path / "runs/a/config.yaml").touch()
    logdir = Logdir(tmp_path / "runs", place)
    logdir.refresh()
    assert list(place.iterdir()) == []
    write_run(tmp_path / "runs/a", pictures=True)
    with_events(tmp_path / "runs/b")
    logdir.refresh()
    assert sorted(path.name for path in place.iterdir()) == ["a", "b"]
    assert logdir.show_pictures() == []
    assert logdir.show_pictures() is None
    assert (place / "a/projector_config.pbtxt").is_file()


def test_a_converted_run_that_goes_on_with_event_files_is_linked(tmp_path, place):
    run = write_run(tmp_path / "runs/a", summary=False)
    logdir = Logdir(tmp_path / "runs", place)
    logdir.refresh()
    tracker = TensorBoardTracker(RunFolder(run))
    tracker.log_metrics({"epoch": 3, "val/acc": 0.5})
    tracker.finish()
    logdir.refresh()
    assert (place / "a").is_symlink()
    assert logdir.converted == {}


def test_one_run_alone_and_runs_behind_links(tmp_path):
    run = write_run(tmp_path / "real/run")
    assert find_runs(run) == {"run": run}
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/linked").symlink_to(run)
    (tmp_path / "runs/around").symlink_to(tmp_path / "runs")
    assert "linked" in find_runs(tmp_path / "runs")


def test_no_folder_of_runs(tmp_path):
    with pytest.raises(UserError, match=r"expected a folder of runs but found nothing at .*none"):
        find_runs(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="but found a file at"):
        find_runs(tmp_path / "file")
