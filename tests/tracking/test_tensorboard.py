import sys

import numpy as np
import pytest
from event_reading import curve, read_events
from PIL import Image
from tensorboard.plugins.hparams import metadata
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

from fer_lightning.runs.folder import new_run_folder
from fer_lightning.tracking.tensorboard import TensorBoardTracker, is_installed
from fer_lightning.tracking.tracker import FeatureTracker, Tracker
from fer_lightning.tracking.wandb import WandbTracker

CONFIG = {"seed_everything": 3, "model": {"lr": 0.1}, "run": {"model": "vit"}}


@pytest.fixture
def folder(tmp_path):
    return new_run_folder(tmp_path / "runs", "a")


def log_epochs(tracker, *epochs, offset=0.0):
    for epoch in epochs:
        tracker.log_metrics({"epoch": epoch, "val/acc": epoch / 10 + offset}, step=100 * epoch)


def test_numbers_are_at_their_epochs_and_seen_at_once(folder):
    tracker = TensorBoardTracker(folder)
    log_epochs(tracker, 0, 1)
    events = read_events(folder.tensorboard)
    assert events.Tags()["scalars"] == ["val/acc"]
    assert curve(events, "val/acc") == {0: 0.0, 1: 0.1}
    tracker.finish()


def test_a_test_after_the_training_goes_into_the_same_file(folder):
    tracker = TensorBoardTracker(folder)
    log_epochs(tracker, 0)
    tracker.finalize("success")
    tracker.log_metrics({"epoch": 1, "test/acc": 0.5})
    tracker.finish()
    assert len(list(folder.tensorboard.glob("events*"))) == 1
    assert curve(read_events(folder.tensorboard), "test/acc") == {1: 0.5}


def test_a_resumed_run_has_each_epoch_once(folder):
    killed = TensorBoardTracker(folder)
    log_epochs(killed, 0, 1, 2)
    killed.finish()
    again = TensorBoardTracker(folder)
    again.cut_back(2)
    log_epochs(again, 2, 3, offset=0.5)
    again.finish()
    events = read_events(folder.tensorboard)
    assert [point.step for point in events.Scalars("val/acc")] == [0, 1, 2, 3]
    assert curve(events, "val/acc") == {0: 0.0, 1: 0.1, 2: 0.7, 3: 0.8}


def test_pictures_and_tables_show(folder, tmp_path):
    drawn = np.random.default_rng(0).integers(0, 255, (900, 1400, 3), np.uint8)
    Image.fromarray(drawn).save(tmp_path / "a.png")
    tracker = TensorBoardTracker(folder)
    tracker.log_picture("val/gradcam", tmp_path / "a.png", 4)
    tracker.log_table("test/focus_table", ["maps", "lfr"], [["model", 1.5]])
    tracker.finish()
    events = read_events(folder.tensorboard)
    (picture,) = events.Images("val/gradcam")
    assert (picture.step, picture.width, picture.height) == (4, 700, 450)
    assert picture.encoded_image_string[:2] == b"\xff\xd8", "JPEG"
    (tag,) = events.Tags()["tensors"]
    assert b"model  1.5" in events.Tensors(tag)[0].tensor_proto.string_val[0]


def test_options_and_results_are_there_to_compare(folder):
    tracker = TensorBoardTracker(folder)
    tracker.log_hyperparams(CONFIG)
    log_epochs(tracker, 0)
    tracker.summarise({"val": {"acc": 0.25, "epoch": 0}})
    tracker.finish()
    events = read_events(folder.tensorboard)
    assert curve(events, "val/best_acc") == {0: 0.25}
    content = events.summary_metadata[metadata.SESSION_START_INFO_TAG].plugin_data.content
    values = metadata.parse_session_start_info_plugin_data(content).hparams
    assert {k: v.number_value for k, v in values.items()} == {"seed_everything": 3, "model.lr": 0.1}
    content = events.summary_metadata[metadata.EXPERIMENT_TAG].plugin_data.content
    columns = metadata.parse_experiment_plugin_data(content)
    assert [m.name.tag for m in columns.metric_infos] == ["val/best_acc", "test/acc", "val/acc"]
    assert metadata.SESSION_END_INFO_TAG in events.summary_metadata


def test_the_projector_finds_everything_beside_its_configuration(folder):
    tracker = TensorBoardTracker(folder)
    log_epochs(tracker, 0)
    rng = np.random.default_rng(0)
    faces = rng.integers(0, 255, (5, 1, 48, 48), np.uint8)
    for name, count in (("val/features", 5), ("test/features", 3), ("val/features", 5)):
        tracker.log_features(name, rng.random((count, 4)), ["happy"] * count, faces[:count])
    assert tracker.failure is None
    config = ProjectorConfig()
    from google.protobuf import text_format

    text_format.Parse((folder.tensorboard / "projector_config.pbtxt").read_text(), config)
    assert [e.tensor_name for e in config.embeddings] == ["test_features", "val_features"]
    val = config.embeddings[1]
    assert list(val.tensor_shape) == [5, 4]
    assert np.fromfile(folder.tensorboard / val.tensor_path, np.float32).size == 20
    labels = (folder.tensorboard / val.metadata_path).read_text().splitlines()
    assert labels == ["label\timage", *(f"happy\t{i}" for i in range(5))]
    assert list(val.sprite.single_image_dim) == [48, 48]
    sprite = np.asarray(Image.open(folder.tensorboard / val.sprite.image_path))
    assert sprite.shape == (144, 144)
    np.testing.assert_array_equal(sprite[48:96, 48:96], faces[4, 0])
    tracker.finish()


@pytest.mark.parametrize("channels", [1, 3])
def test_large_faces_are_made_smaller(folder, channels):
    folder.tensorboard.mkdir()
    faces = np.zeros((2, channels, 224, 112), np.uint8)
    TensorBoardTracker(folder).log_features("val/features", np.ones((2, 2)), ["a", "b"], faces)
    assert Image.open(folder.tensorboard / "val_features.png").size == (64, 128)


def test_a_failure_is_told_once_and_ends_nothing(folder):
    folder.tensorboard.write_text("a file where a folder should be")
    tracker = TensorBoardTracker(folder)
    with pytest.warns(UserWarning, match=r"TensorBoard failed in log_metrics .* Training") as told:
        log_epochs(tracker, 0)
    assert len(told) == 1
    log_epochs(tracker, 1)
    tracker.log_hyperparams(CONFIG)
    tracker.summarise({})
    tracker.finalize("success")
    tracker.finish()


def test_only_rank_zero_writes(folder, monkeypatch):
    from lightning.pytorch.utilities import rank_zero_only

    monkeypatch.setattr(rank_zero_only, "rank", 1)
    tracker = TensorBoardTracker(folder)
    log_epochs(tracker, 0)
    tracker.log_hyperparams(CONFIG)
    tracker.finish()
    assert not folder.tensorboard.exists()


def test_callbacks_find_both_trackers_without_knowing_them():
    assert issubclass(TensorBoardTracker, Tracker)
    assert issubclass(TensorBoardTracker, FeatureTracker)
    assert issubclass(WandbTracker, Tracker)


def test_it_is_missing_where_the_package_is(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    assert not is_installed()
