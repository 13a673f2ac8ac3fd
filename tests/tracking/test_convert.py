import os

import pytest
from fake_run import finish_run, metrics, write_run
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata

from fer_lightning.runs.files import if_readable, read_config, read_json, read_metrics
from fer_lightning.tracking.dashboard import Conversion


def read(out):
    events = EventAccumulator(str(out), size_guidance={"images": 0, "scalars": 0, "tensors": 0})
    events.Reload()
    return events


def curve(events, name):
    return [(point.step, round(point.value, 6)) for point in events.Scalars(name)]


def rewrite(path, text):
    """Write so that the change is seen, however coarse the clock of the file system is."""
    before = path.stat().st_mtime
    path.write_text(text)
    os.utime(path, (before + 1, before + 1))


def test_numbers_pictures_and_features_of_a_run_without_event_files(tmp_path):
    run = write_run(tmp_path / "run", pictures=True)
    files = sorted(path.name for path in run.rglob("*"))
    conversion = Conversion(run, tmp_path / "out")
    assert conversion.update() == []
    assert list(filter(None, conversion.update_pictures())) == []
    events = read(tmp_path / "out")
    assert curve(events, "val/acc") == [(0, 0.0), (1, 0.1), (2, 0.2)]
    assert curve(events, "val/best_acc") == [(2, 0.2)]
    assert curve(events, "test/acc") == [(3, 0.5)]
    assert curve(events, "test/recall/happy") == [(3, 0.25)]
    assert "test/recall/sad" not in events.Tags()["scalars"]
    assert set(events.Tags()["images"]) == {"val/gradcam", "test/gradcam", "train/weighting"}
    assert [picture.step for picture in events.Images("val/gradcam")] == [0, 1]
    content = events.summary_metadata[metadata.SESSION_START_INFO_TAG].plugin_data.content
    options = metadata.parse_session_start_info_plugin_data(content).hparams
    assert options["model.net"].string_value == "ViT"
    assert options["model.lr"].number_value == 0.001
    labels = (tmp_path / "out/test_features_labels.tsv").read_text().splitlines()
    assert labels[:3] == ["label\timage", "happy\t0", "sad\t1"]
    assert sorted(path.name for path in run.rglob("*")) == files, "runs are only read"


def test_the_table_of_focus_is_a_text(tmp_path):
    run = write_run(tmp_path / "run")
    (run / "focus.csv").write_text("source,n,lfr\nmodel,9,1.5\nuniform,9,\n")
    conversion = Conversion(run, tmp_path / "out")
    assert conversion.update() == []
    (shown,) = read(tmp_path / "out").Tensors("test/focus_table/text_summary")
    (text,) = shown.tensor_proto.string_val
    assert text.decode() == "n: 9\n\n```\nsource   lfr\nmodel    1.5\nuniform\n```"


def test_a_damaged_table_of_focus_is_left_out(tmp_path):
    run = write_run(tmp_path / "run")
    (run / "focus.csv").write_text("source,n\nmodel,1,2\n")
    (told,) = Conversion(run, tmp_path / "out").update()
    assert told.startswith("left out: expected CSV")
    assert "focus.csv" in told
    assert "test/focus_table/text_summary" not in read(tmp_path / "out").Tags()["tensors"]


def test_a_training_in_progress_is_followed(tmp_path):
    run = write_run(tmp_path / "run", epochs=2, summary=False)
    conversion = Conversion(run, tmp_path / "out")
    conversion.update()
    assert not conversion.complete
    rewrite(run / "metrics.csv", metrics(4))
    finish_run(run, 4)
    conversion.update()
    events = read(tmp_path / "out")
    assert [step for step, _ in curve(events, "val/acc")] == [0, 1, 2, 3]
    assert curve(events, "test/acc") == [(4, 0.5)]


def test_a_resumed_run_has_each_epoch_once(tmp_path):
    run = write_run(tmp_path / "run", epochs=3, summary=False)
    conversion = Conversion(run, tmp_path / "out")
    conversion.update()
    rewrite(run / "metrics.csv", metrics(1) + "1,0.9,1\n2,0.8,1\n3,0.7,1\n")
    conversion.update()
    assert curve(read(tmp_path / "out"), "val/acc") == [(0, 0.0), (1, 0.9), (2, 0.8), (3, 0.7)]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("1,oops,1", "could not convert string to float: 'oops'"),
        ("1,0.5", "got 2 of 3 columns"),
        (",0.5,1", "there is no epoch"),
        ("nan,0.5,1", "cannot convert float NaN to integer"),
        ("\0\x01,\xff,1", "could not convert"),
    ],
)
def test_a_broken_line_is_named_and_the_others_are_shown(tmp_path, line, why):
    run = write_run(tmp_path / "run", summary=False)
    (run / "metrics.csv").write_text(f"epoch,val/acc,val/loss\n0,0.1,2\n{line}\n2,0.3,1\n")
    conversion = Conversion(run, tmp_path / "out")
    (told,) = conversion.update()
    assert told.startswith(f"{run / 'metrics.csv'}, line 3: expected numbers but ")
    assert why in told
    assert told.endswith("it is left out")
    assert curve(read(tmp_path / "out"), "val/acc") == [(0, 0.1), (2, 0.3)]
    assert conversion.update() == [], "told once"


def test_many_broken_lines_are_one_sentence(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text("epoch,val/acc\n" + "x,y\n" * 5)
    rows, told = read_metrics(path)
    assert rows == {}
    assert told.endswith("line 2: expected numbers but could not convert string to float: 'x'; "
                         "it is left out, as are 4 more")  # fmt: skip


@pytest.mark.parametrize("text", ["", "\n", "epoch\n", "\0\0"])
def test_an_empty_table_is_no_mistake(tmp_path, text):
    path = tmp_path / "metrics.csv"
    path.write_text(text)
    assert read_metrics(path) == ({}, "")


def test_damaged_json_yaml_pictures_and_features_are_named(tmp_path):
    run = write_run(tmp_path / "run", pictures=True)
    (run / "summary.json").write_text('{"val":\n oops}')
    (run / "config.yaml").write_text("model:\n  lr: [\n")
    (run / "gradcam/test.png").write_bytes(b"no picture")
    (run / "features.npz").write_bytes(b"no archive")
    conversion = Conversion(run, tmp_path / "out")
    config, summary = conversion.update()
    assert f"expected YAML in {run}/config.yaml but" in config
    assert "line 3" in config
    assert f"expected JSON in {run}/summary.json but" in summary
    assert "line 2" in summary
    picture, features = filter(None, conversion.update_pictures())
    assert f"{run}/gradcam/test.png: no picture" in picture
    assert f"in {run}/features.npz but" in features
    assert all(words.startswith("left out: ") for words in (config, summary, features))
    assert len(curve(read(tmp_path / "out"), "val/acc")) == 3


@pytest.mark.parametrize("summary", ["[1]", '{"test": 3, "val": 4}', '{"val": {"epoch": "x"}}'])
def test_a_summary_of_another_shape_is_left_out(tmp_path, summary):
    run = write_run(tmp_path / "run", summary=False)
    (run / "summary.json").write_text(summary)
    Conversion(run, tmp_path / "out").update()
    assert "test/acc" not in read(tmp_path / "out").Tags()["scalars"]


def test_what_is_not_there_yet_is_no_mistake(tmp_path):
    assert read_metrics(tmp_path / "none") == ({}, "")
    for read_file in (read_json, read_config):
        assert if_readable(read_file, tmp_path / "none") == (None, "")
