"""Pictures of every kind, given to the command explain."""

import json
import os
from pathlib import Path

import cv2
import numpy as np
import pytest
from explain_samples import ALWAYS, FACES, explainer, listing, logits, rows, tiny_vit, write

from fer_lightning.commands.explain import LONGEST, overlay_names


@pytest.fixture
def explain(run):
    return explainer(run, tiny_vit())


@pytest.mark.parametrize("ending", [".png", ".bmp", ".tiff", ".pgm", ".PNG"])
def test_lossless_forms_give_the_same_answer(explain, ending):
    write("faces/a.png", FACES[0])
    write(f"faces/b{ending}", FACES[0])
    assert explain()[0] == 0
    np.testing.assert_allclose(logits()[0], logits()[1], atol=1e-5)


def test_alpha_16_bit_and_colour(explain):
    colour = np.repeat(FACES[0][..., None], 3, axis=2)
    alpha = np.full((48, 48, 1), 128, np.uint8)
    write("faces/a.png", FACES[0])
    write("faces/b.png", colour)
    write("faces/c.png", np.concatenate([colour, alpha], axis=2))
    write("faces/d.png", FACES[0].astype(np.uint16) * 257)
    write("faces/e.png", np.concatenate([colour, alpha], axis=2).astype(np.uint16) * 257)
    write("faces/f.tiff", colour.astype(np.uint16) * 257)
    write("faces/g.jpg", FACES[0])
    assert explain()[0] == 0
    assert len(rows()) == 7
    np.testing.assert_allclose(logits()[1:6], logits()[[0] * 5], atol=1e-5)
    np.testing.assert_allclose(logits()[6], logits()[0], atol=0.1)  # JPEG loses a little


def test_large_pictures_shrink_by_area_and_oblong_ones_are_cut(explain):
    write("faces/a.png", FACES[0])
    large = FACES[0].repeat(5, axis=0).repeat(5, axis=1)
    write("faces/b.png", large)
    noise = np.random.default_rng(0).integers(0, 256, (240, 300), np.uint8)
    write("faces/c.png", np.concatenate([noise, large, noise[:, :200]], axis=1)[:, :840])
    noise[:, 30:270] = large
    write("faces/d.png", noise)
    assert explain()[0] == 0
    np.testing.assert_allclose(logits()[1], logits()[0], atol=1e-5)
    np.testing.assert_allclose(logits()[3], logits()[0], atol=1e-5)
    shape = ("width", "height", "crop_x", "crop_y", "crop_side")
    found = [tuple(int(row[name]) for name in shape) for row in rows()]
    expected = [(48, 48, 0, 0, 48), (240, 240, 0, 0, 240)]
    expected += [(740, 240, 250, 0, 240), (300, 240, 30, 0, 240)]
    assert found == expected


def test_10000_pixels_wide(explain):
    wide = np.zeros((48, 10_000), np.uint8)
    wide[:, 4976:5024] = FACES[0]
    write("faces/wide.png", wide)
    write("faces/face.png", FACES[0])
    huge = bytearray(cv2.imencode(".png", FACES[0])[1].tobytes())
    huge[16:24] = (10_000).to_bytes(4, "big") * 2
    Path("faces/huge.png").write_bytes(huge)
    code, out, err = explain()
    assert code == 0, err
    np.testing.assert_allclose(logits()[0], logits()[1], atol=1e-5)
    assert "skipped 1: huge.png (10000x10000 pixels, expected 1 to 50,000,000 in all)" in out


def test_files_that_are_no_pictures_are_skipped_named_and_counted(explain):
    write("faces/a.png", FACES[0])
    write("faces/one.png", np.zeros((1, 1), np.uint8))
    Path("faces/notes.txt").write_text("no picture")
    Path("faces/empty.png").touch()
    Path("faces/cut.png").write_bytes(Path("faces/a.png").read_bytes()[:500])
    Path("faces/.hidden").write_text("not even looked at")
    code, out, err = explain()
    assert code == 0, err
    assert [row["file"] for row in rows()] == ["a.png"]
    assert "explained 1 of 5 files" in out
    assert "one.png (1x1 pixels, expected at least 8 a side)" in out
    skipped = json.loads(Path("out/notes.json").read_text())["skipped"]
    assert [one["file"] for one in skipped] == ["cut.png", "empty.png", "notes.txt", "one.png"]


def test_the_same_stem_in_two_folders(explain):
    for name in ("x/face.png", "y/face.png", "y/face.jpg", "z/other.png"):
        write(f"faces/{name}", FACES[0])
    assert explain()[0] == 0
    names = {row["file"]: row["overlay"] for row in rows()}
    assert names == {
        "x/face.png": "x__face.png.png",
        "y/face.png": "y__face.png.png",
        "y/face.jpg": "y__face.jpg.png",
        "z/other.png": "other.png",
    }
    assert set(names.values()) | set(ALWAYS) == set(listing("out"))


def test_overlays_never_share_a_name():
    names = ["a/b.png", "A/B.PNG", "a__b.png", "c/" + "ü" * 200 + ".png", "d/" + "ü" * 200 + ".png"]
    names += ["a__b.png.png", "explain.csv", "e/maps.npz", "x\x1b.png", "x\udcff.png"]
    found = list(overlay_names(names).values())
    assert len({name.casefold() for name in found}) == len(names)
    assert all(name.endswith(".png") and "/" not in name for name in found)
    assert all(len(name.encode()) < LONGEST + 10 for name in found)


def test_strange_file_names(explain):
    write("plain.png", FACES[0])
    Path("faces").mkdir()
    for name in (b"a\xff.png", b"[bold]b.png", b"c\nd.png"):
        Path("faces", os.fsdecode(name)).write_bytes(Path("plain.png").read_bytes())
    code, _, err = explain()
    assert (code, "expected names in UTF-8" in err, "rename it" in err) == (2, True, True)
    Path("faces", os.fsdecode(b"a\xff.png")).unlink()
    code, out, err = explain()
    assert code == 0, err
    assert "[bold]b.png" in out
    assert {row["file"] for row in rows()} == {"[bold]b.png", "c?d.png"}
