"""Places, pictures, options and checkpoints that the command explain refuses."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from explain_samples import ALWAYS, FACES, explainer, listing, rows, save_net, tiny_vit, write

from fer_lightning.models import ViT


@pytest.fixture
def explain(run):
    return explainer(run, tiny_vit())


def test_an_earlier_result_is_replaced_only_when_asked_for(explain):
    write("faces/a.png", FACES[0])
    write("faces/b.png", FACES[1])
    assert explain()[0] == 0
    before = Path("out/explain.csv").read_text()
    code, _, err = explain()
    assert code == 2
    assert "expected a new or empty folder but out holds 5 files" in err
    Path("faces/b.png").unlink()
    assert explain("--overwrite")[0] == 0
    assert listing("out") == ["a.png", *ALWAYS]
    assert Path("out/explain.csv").read_text() != before
    Path("out/mine.txt").write_text("dear to me")
    code, _, err = explain("--overwrite")
    assert code == 2
    assert "out also holds 'mine.txt'" in err
    assert listing("out") == ["a.png", *ALWAYS[:2], "mine.txt", "notes.json"]
    assert not [name for name in listing(".") if name.startswith(".out")]


def test_a_folder_of_other_things_is_never_overwritten(explain):
    write("faces/a.png", FACES[0])
    for content in (None, "[1, 2]", "{", '{"files": 7}'):
        Path("out").mkdir(exist_ok=True)
        Path("out/letter.txt").write_text("dear to me")
        if content is not None:
            Path("out/notes.json").write_text(content)
        code, _, err = explain("--overwrite")
        assert code == 2
        assert "out also holds 'letter.txt'" in err
        assert Path("out/letter.txt").exists()


def test_results_among_the_pictures_are_no_pictures(explain):
    write("faces/a.png", FACES[0])
    Path("faces/out").mkdir()  # an empty one may be there
    for option in ((), ("--overwrite",)):
        assert explain(*option, out="faces/out")[0] == 0
        assert [row["file"] for row in rows("faces/out")] == ["a.png"]
    code, _, err = explain("--overwrite", images="faces/out/a.png", out="faces/out")
    assert code == 2
    assert "expected --out apart from the pictures" in err


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("file/out", r"expected to write into file/out but cannot"),
        ("file", "expected a folder for results but file is a file"),
        ("x" * 300, "but cannot (File name too long)"),
    ],
)
def test_places_that_cannot_be_written(explain, out, message):
    write("faces/a.png", FACES[0])
    Path("file").write_text("x")
    before = listing(".")
    code, _, err = explain(out=out)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert listing(".") == before


def test_the_current_folder_cannot_be_made_anew(explain, monkeypatch):
    write("faces/a.png", FACES[0])
    Path("here").mkdir()
    monkeypatch.chdir("here")
    code, _, err = explain("--checkpoint=../net.ckpt", images="../faces/a.png", out=".")
    assert code == 2
    assert "is a mounted or the current one; choose a folder inside it" in err


def test_a_full_disk_leaves_nothing_behind(explain, monkeypatch):
    write("faces/a.png", FACES[0])

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    before = listing(".")
    code, _, err = explain()
    assert code == 2
    assert "expected to write into out but cannot (No space left on device)" in err
    assert listing(".") == before


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ("none", "expected pictures at none but there is nothing"),
        ("hollow", "expected pictures in hollow but the folder is empty"),
        ("bad.png", "expected a picture but bad.png is none (not a whole JPEG"),
        ("one.png", "expected a picture but one.png is none (1x1 pixels"),
        ("bad", "expected pictures in bad but none of its 2 files is one, such as a.txt (not a"),
        ("pipe", "expected a picture or a folder but pipe is neither"),
        ("x" * 300, "File name too long"),
    ],
)
def test_no_pictures(explain, images, message):
    Path("hollow").mkdir()
    Path("bad.png").write_text("no picture")
    write("one.png", np.zeros((1, 1), np.uint8))
    Path("bad").mkdir()
    Path("bad/a.txt").write_text("no picture")
    Path("bad/b.png").touch()
    os.mkfifo("pipe")
    code, _, err = explain(images=images)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert not Path("out").exists()


def test_too_many_files(explain, monkeypatch):
    monkeypatch.setattr("fer_lightning.data.readers.pictures.MOST", 1)
    write("faces/a.png", FACES[0])
    write("faces/b.png", FACES[0])
    code, _, err = explain()
    assert code == 2
    assert "expected at most 1 pictures but faces holds 2 files" in err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--target=hapy", "a class or its number from 0 to 6 but got 'hapy'; did you mean 'happy'"),
        ("--target=7", "but got '7'; choose one of angry"),
        ("--target=-1", "but got '-1'"),
        ("--size=0", "expected --size from 16 to 2048 but got 0"),
        ("--size=100000", "expected --size from 16 to 2048"),
    ],
)
def test_options_that_cannot_be(explain, option, message):
    write("faces/a.png", FACES[0])
    code, _, err = explain(option)
    assert code == 2
    assert message in err
    assert not Path("out").exists()


def test_no_checkpoint(run):
    write("faces/a.png", FACES[0])
    code, _, err = run("explain", "--checkpoint=none.ckpt", "--images=faces", "--out=out")
    assert code == 2
    assert "expected a checkpoint but found no file none.ckpt" in err


class Hostile:
    def __reduce__(self):
        return print, ("executed",)


def test_code_in_a_checkpoint_is_not_executed(explain):
    write("faces/a.png", FACES[0])
    torch.save({"fer_lightning": {}, "state_dict": Hostile()}, "net.ckpt")
    code, out, err = explain()
    assert code == 2
    assert "could execute code" in err
    Path("net.ckpt").write_bytes(pickle.dumps(Hostile()))
    code, again, _ = explain()
    assert code == 2
    assert "executed" not in out + again
    assert not Path("out").exists()


def spoil(checkpoint, case):
    about, weights = checkpoint["fer_lightning"], checkpoint["state_dict"]
    if case == "no model":
        del about["net"]
    elif case == "no weights":
        del checkpoint["state_dict"]
    elif case == "other weights":
        weights["net.head.weight"] = torch.zeros(3, 3)
    elif case == "text for weights":
        checkpoint["state_dict"] = "text"
    elif case == "nan":
        weights["net.head.weight"][0] = torch.nan
    elif case == "few classes":
        about["classes"] = ["happy"]
    elif case == "no names":
        about["classes"] = list(range(7))


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("no model", "expected a model's description"),
        ("no weights", "missing or of another shape; the checkpoint is damaged"),
        ("other weights", "missing or of another shape; the checkpoint is damaged"),
        ("text for weights", "missing or of another shape; the checkpoint is damaged"),
        ("nan", "expected finite answers of the model but got NaN"),
        ("few classes", "expected a checkpoint with 7 names of classes but got ['happy']"),
        ("no names", "expected a checkpoint with 7 names of classes"),
    ],
)
def test_damaged_checkpoints(explain, case, message):
    write("faces/a.png", FACES[0])
    checkpoint = torch.load("net.ckpt", weights_only=True)
    spoil(checkpoint, case)
    torch.save(checkpoint, "net.ckpt")
    code, _, err = explain("--target=sad")
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert not Path("out").exists()


def test_models_of_odd_inputs(run):
    write("faces/a.png", FACES[0])
    save_net(ViT(dim=16, depth=1, heads=2, in_chans=5))
    code, _, err = run("explain", "--checkpoint=net.ckpt", "--images=faces", "--out=out")
    assert code == 2
    assert "expected a model of 1 or 3 channels and at most 4096 pixels a side but got" in err


def test_a_folder_without_a_best_checkpoint(explain):
    Path("runs/empty").mkdir(parents=True)
    write("faces/a.png", FACES[0])
    code, _, err = explain("--checkpoint=runs/empty")
    assert code == 2
    assert "runs/empty holds no checkpoints/best.ckpt; name a checkpoint" in err
