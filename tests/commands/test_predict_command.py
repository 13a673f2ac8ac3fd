"""Faces of any pictures, predicted from the command line."""

import csv
import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import torch
from explain_samples import FACES, save_net, tiny_vit, write

from fer_lightning.commands.checkpoints import load_shipped_and_newest
from fer_lightning.data import face_finder
from fer_lightning.data.face_finder import Face
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.networks import FACE_DETECTOR, network_at_hand
from fer_lightning.models import CNN, ViT
from fer_lightning.models.shipped_weights import shipped

AT_HAND = network_at_hand(FACE_DETECTOR)


@pytest.fixture
def predict(run):
    save_net(tiny_vit())
    return lambda *words: run("predict", *words, "--checkpoint=net.ckpt")


@pytest.fixture
def finds(monkeypatch):
    """Let the face network find these faces, whatever the picture."""

    def install(*faces):
        monkeypatch.setattr(face_finder, "fetch_network", lambda network: None)
        monkeypatch.setattr(face_finder, "face_finder", lambda path: lambda picture: list(faces))

    return install


def rows(out="out"):
    return list(csv.DictReader(Path(out, "faces.csv").read_text().splitlines()))


def video(path, pictures):
    """Write an AVI of grey pictures."""
    height, width = pictures[0].shape
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 5, (width, height))
    assert writer.isOpened()
    for picture in pictures:
        writer.write(cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR))
    writer.release()


def test_small_faces_are_taken_as_they_are(predict):
    for i, face in enumerate(FACES):
        write(f"faces/{i}.png", face)
    code, out, err = predict("faces", "--out=out")
    assert (code, err) == (0, "")
    assert out.count("whole picture") == 7
    found = rows()
    expected = [answer(face) for face in FACES]
    assert [row["predicted"] for row in found] == [max(e, key=e.get) for e in expected]
    for row, chances in zip(found, expected, strict=True):
        assert float(row["p_sad"]) == pytest.approx(chances["sad"], abs=1e-5)
    told = json.loads(Path("out/faces.json").read_text())
    assert told["faces"][3]["answers"]["net"] == pytest.approx(expected[3], abs=1e-5)
    assert told["checkpoints"]["net"]["trained_on"] == "drawn faces"
    assert predict("faces", "--out=out")[0] == 2, "an earlier result stays"
    assert predict("faces", "--out=out", "--overwrite")[0] == 0


def answer(face):
    """What the tiny model says of a face of 48 pixels."""
    with torch.no_grad():
        logits = tiny_vit()(torch.from_numpy(face)[None, None] / 255)
    return dict(zip(FER_CLASSES, logits.softmax(1)[0].tolist(), strict=True))


def test_ten_faces_in_one_picture(predict, finds):
    canvas = np.full((200, 600), 128, np.uint8)
    places = [Face(50 + 52 * i, 70, 48, 0.9) for i in range(10)]
    for i, place in enumerate(places):
        canvas[70:118, place.x : place.x + 48] = FACES[i % 7]
    finds(*places)
    write("crowd.png", canvas)
    code, out, _ = predict("crowd.png", "--out=out")
    assert code == 0
    assert "faces: 10, pictures or frames: 1" in out
    found = rows()
    assert [int(row["x"]) for row in found] == [place.x for place in places]
    for i, row in enumerate(found):  # the crop is the face, pixel by pixel
        assert float(row["p_angry"]) == pytest.approx(answer(FACES[i % 7])["angry"], abs=1e-5)


def test_forty_megapixels(predict, finds):
    picture = np.full((5000, 8000), 128, np.uint8)
    picture[1000:3000, 2000:4000] = cv2.resize(FACES[0], (2000, 2000), interpolation=0)
    finds(Face(2000, 1000, 2000, 0.9))
    write("large.png", picture)
    code, out, _ = predict("large.png", "--out=out")
    assert code == 0
    assert "2000x2000 at" in out
    # as many equal pixels in each cell of 48x48, but for the last digits of 2000 / 48
    assert float(rows()[0]["p_angry"]) == pytest.approx(answer(FACES[0])["angry"], abs=0.02)


def test_no_face(predict, finds):
    finds()
    write("a.png", np.zeros((300, 300), np.uint8))
    code, out, err = predict("a.png")
    assert code == 2
    assert "expected a face but found none in a.png" in err
    assert "--whole" in err
    write("b.png", FACES[0])
    code, out, _ = predict("a.png", "b.png")
    assert code == 0
    assert "no face found in 1: a.png" in out
    code, out, _ = predict("a.png", "--whole")
    assert code == 0
    assert "whole picture" in out


def test_without_the_network_one_sentence(predict, monkeypatch):
    failed = SimpleNamespace(returncode=1, stderr="ERROR: no route to host")
    monkeypatch.setattr(subprocess, "run", lambda *args, **ways: failed)
    write("a.png", np.zeros((300, 300), np.uint8))
    code, _, err = predict("a.png")
    assert code == 2
    assert "no route to host" in err
    assert err.count("\n") == 1


def test_a_video_frame_by_frame(predict):
    video("film.avi", [FACES[i % 7] for i in range(10)])
    code, out, err = predict("film.avi", "--every=4", "--out=out")
    assert code == 0, err
    assert [row["frame"] for row in rows()] == ["0", "4", "8"]
    assert "frame 8" in out
    code, _, err = predict("film.avi", "--every=0")
    assert code == 2
    assert "--every of at least 1" in err


@pytest.mark.parametrize("content", [b"no video", b"RIFF\0\0\0\0AVI LIST" + bytes(500), b"", "m3u"])
def test_a_corrupt_video(predict, content):
    if content == "m3u":
        content = b"#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n"
    Path("bad.mp4").write_bytes(content)
    code, _, err = predict("bad.mp4")
    assert code == 2
    assert "expected pictures or videos but bad.mp4 is none" in err
    write("face.png", FACES[0])
    code, out, _ = predict("bad.mp4", "face.png")
    assert code == 0
    assert "skipped 1: bad.mp4 (" in out


def test_a_video_that_is_cut_off(predict):
    noise = np.random.default_rng(0).integers(0, 256, (40, 48, 48), dtype=np.uint8)
    video("film.avi", list(noise))
    whole = Path("film.avi").read_bytes()
    Path("film.avi").write_bytes(whole[: len(whole) // 2])
    code, out, _ = predict("film.avi")
    assert code == 0
    assert "skipped 1: film.avi (damaged: it ends after" in out


def test_what_is_no_picture(predict):
    Path("letter.png").write_text("dear friend")
    code, _, err = predict("letter.png")
    assert code == 2
    assert "letter.png is none (not a whole JPEG" in err
    code, _, err = predict("nowhere.png")
    assert code == 2
    assert "expected pictures at nowhere.png but there is nothing" in err


def test_several_checkpoints_side_by_side(run):
    save_net(tiny_vit(), "vit.ckpt")
    save_net(CNN(widths=(4, 4, 4, 4)).eval(), "cnn.ckpt")
    write("a.png", FACES[0])
    code, out, _ = run("predict", "a.png", "--checkpoint", "vit.ckpt", "cnn.ckpt", "--out=out")
    assert code == 0
    assert [row["checkpoint"] for row in rows()] == ["vit", "cnn"]
    assert "checkpoint" in out


def test_checkpoints_of_other_classes_are_refused(run):
    save_net(tiny_vit(), "a.ckpt")
    save_net(ViT(num_classes=2, dim=16, depth=1, heads=2), "b.ckpt", classes=["cat", "dog"])
    write("a.png", FACES[0])
    code, _, err = run("predict", "a.png", "--checkpoint", "a.ckpt", "--checkpoint", "b.ckpt")
    assert code == 2
    assert "expected checkpoints of the same classes but a has angry" in err
    assert "b has cat, dog" in err


def finished_runs():
    for name, done in (("old", True), ("new", True), ("unfinished", False)):
        folder = Path("runs", name)
        (folder / "checkpoints").mkdir(parents=True)
        save_net(tiny_vit(), folder / "checkpoints/best.ckpt")
        (folder / "config.yaml").touch()
        if done:
            (folder / "summary.json").touch()
    os.utime("runs/old/summary.json", (1, 1))


def test_the_package_s_own_model_answers_where_none_is_given(run):
    finished_runs()
    write("a.png", FACES[0])
    code, out, err = run("predict", "a.png", "--out=out")
    assert code == 0, err
    assert "flagship answers, which comes with the package" in out
    assert rows()[0]["checkpoint"] == "flagship"
    assert run("predict", "a.png", "--checkpoint", "runs/old", "flagship", "--out=out2")[0] == 0
    assert [row["checkpoint"] for row in rows("out2")] == ["old", "flagship"]


def test_the_page_shows_all_shipped_ones_beside_the_newest_runs_of_the_same_classes(run):
    own = ["flagship", *(name for name in shipped() if name != "flagship")]
    assert [one.name for one in load_shipped_and_newest(3)] == own
    assert all(one.is_shipped for one in load_shipped_and_newest(3))
    finished_runs()
    found = load_shipped_and_newest(3)
    assert [one.name for one in found if not one.is_shipped] == ["new", "old"]
    assert [one.name for one in load_shipped_and_newest(1)] == [*own, "new"]
    net = ViT(num_classes=2, dim=16, depth=1, heads=2)
    save_net(net, "runs/new/checkpoints/best.ckpt", classes=["cat", "dog"])
    assert [one.name for one in load_shipped_and_newest(3)] == [*own, "old"]


def test_lightning_s_form_stays(run, monkeypatch):
    from fer_lightning.commands import fit

    monkeypatch.setattr(fit, "main", lambda argv: print(argv) or 7)
    words = ["predict", "--config", "vit", "--ckpt_path=a.ckpt"]
    assert run(*words)[:2] == (7, f"{words}\n")
    words = ["predict", "--config", "vit", "--help"]
    assert run(*words)[:2] == (7, f"{words}\n")


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_speaks_of_pictures(run, capsys, word):
    with pytest.raises(SystemExit, match="0"):
        run("predict", word)
    out = capsys.readouterr().out
    assert "--every" in out
    assert "--config ... --help" in " ".join(out.split())


def test_without_any_word_it_asks_for_pictures(run):
    code, _, err = run("predict")
    assert code == 2
    assert err.startswith("error: expected pictures, folders or videos but got none")


def test_paths_are_looked_at_first(run):
    code, out, _ = run("predict", "nowhere.jpg")
    assert (code, out) == (2, "")


def test_more_faces_than_rows_lie_in_the_file(predict):
    for i in range(50):
        write(f"faces/{i}.png", FACES[0])
    assert "and 10 more; --out writes them all" in predict("faces")[1]
    assert "and 10 more, all in out/faces.csv" in predict("faces", "--out=out")[1]


@pytest.mark.skipif(AT_HAND is None, reason="the face network is not at hand")
def test_drawn_faces_in_a_photograph(predict, monkeypatch):
    monkeypatch.setattr("fer_lightning.data.networks._places", lambda network: [AT_HAND])
    face = drawn_faces(7, image_size=160, difficulty=0.2, with_masks=False).images[0, 0]
    canvas = np.full((480, 640, 3), 170, np.uint8)
    canvas[150:310, 200:360] = face[..., None]
    write("photo.jpg", canvas)
    code, _, err = predict("photo.jpg", "--out=out")
    assert code == 0, err
    (row,) = rows()
    assert row["found"] == "detected"
    middle = [int(row[k]) + int(row["width"]) / 2 for k in ("x", "y")]
    np.testing.assert_allclose(middle, [280, 230], atol=25)
