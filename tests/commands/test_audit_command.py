import json

import cv2
import numpy as np
import pytest

from fer_lightning.cli import main

ROW = " ".join(map(str, np.arange(2304) % 256))


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "fer2013.csv"
    lines = [f"{label},{ROW},{usage}" for label, usage in [(0, "Training"), (1, "PrivateTest")]]
    path.write_text("\n".join(["emotion,pixels,Usage", *lines]))
    return path


def test_prints_tables_and_writes_json(source, tmp_path, capsys):
    out = tmp_path / "audit.json"
    assert main(["audit", str(source), "--json", str(out)]) == 0
    assert "PrivateTest with a twin in Training" in capsys.readouterr().out
    content = json.loads(out.read_text())
    assert content["twins_in_training"] == {"PrivateTest": 1}
    assert content["contradicting_groups"] == 1


@pytest.mark.parametrize(
    ("path", "out", "message"),
    [
        ("missing.csv", "a.json", "there is nothing"),
        ("fer2013.csv", "missing/a.json", "make it first"),
        ("fer2013.csv", ".", "expected to write"),
    ],
)
def test_mistakes_are_one_sentence(source, tmp_path, capsys, path, out, message):
    assert main(["audit", str(tmp_path / path), "--json", str(tmp_path / out)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: expected")
    assert message in error


def test_pictures_without_near_twins_to_find_cannot_be_drawn(tmp_path, capsys):
    rows = [f"{k % 2},{' '.join(map(str, (np.arange(64) * (k + 3)) % 256))}" for k in range(4)]
    (tmp_path / "faces.csv").write_text("\n".join(["emotion,pixels", *rows]))
    assert main(["audit", str(tmp_path), "--sheet", str(tmp_path / "a.png")]) == 2
    assert "expected" in capsys.readouterr().err


@pytest.mark.parametrize("ending", [".png", ".jpg", ".webp"])
def test_a_single_picture_is_called_one(tmp_path, capsys, ending):
    path = tmp_path / f"face{ending}"
    cv2.imwrite(str(path), np.zeros((48, 48), np.uint8))
    assert main(["audit", str(path)]) == 2
    assert "is a single picture" in capsys.readouterr().err
