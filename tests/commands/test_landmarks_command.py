"""`fer-lightning landmarks` with a fake network: written, continued after a kill, counted."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from fer_lightning.commands import landmarks as command
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.landmarks import read_landmarks


class FakeMesh:
    """Finds all points at the brightness of the first pixel; dark pictures have no face."""

    asked = 0
    dies_after = 10**9

    def __init__(self, path):
        pass

    def __call__(self, image):
        FakeMesh.asked += 1
        if FakeMesh.asked > FakeMesh.dies_after:
            raise KeyboardInterrupt
        value = float(image[0, 0, 0])
        return np.full((68, 2), value / 8, np.float32), 0.9 if value > 20 else 0.1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    faces = drawn_faces(14, with_masks=False)
    for i, (image, label) in enumerate(zip(faces.images, faces.labels, strict=True)):
        picture = image[0].copy()
        picture[0, 0] = 10 * (i % 7 + 1)
        place = tmp_path / "data" / faces.classes[label]
        place.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(place / f"{i}.png"), picture)
    FakeMesh.asked, FakeMesh.dies_after = 0, 10**9
    monkeypatch.setattr(command, "FaceMesh", FakeMesh)
    monkeypatch.setattr(command, "fetch_network", lambda network: Path("network"))
    return tmp_path


def test_it_writes_counts_and_draws(run, folder):
    code, out, err = run("landmarks", "data", "--out", "f.npz", "--sheet", "s.png")
    assert code == 0, err
    assert "accepted 10 of 14 images (71.4%)" in out
    found = read_landmarks(folder / "f.npz")
    assert len(found) == 14
    assert sorted(set(found.points[:, 0, 0].tolist())) == [1.25 * k for k in range(1, 8)]
    assert cv2.imread(str(folder / "s.png")).shape[1] > 500
    assert not list(folder.glob("*.part.npz"))


def test_a_killed_command_continues(run, folder, monkeypatch):
    monkeypatch.setattr(command, "SAVED_EVERY", 0.0)
    FakeMesh.dies_after = 5
    assert run("landmarks", "data", "--out", "f.npz")[0] == 130
    assert not (folder / "f.npz").exists()
    FakeMesh.asked, FakeMesh.dies_after = 0, 10**9
    code, out, _ = run("landmarks", "data", "--out", "f.npz")
    assert code == 0
    assert "continuing: 5 faces were found before" in out
    assert FakeMesh.asked == 9
    assert len(read_landmarks(folder / "f.npz")) == 14


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "f.txt"], "ending in .npz but got f.txt"),
        (["--out", "none/f.npz"], "expected a folder for none/f.npz"),
        (["--out", "f.npz", "--key-bytes", "4"], "8 to 32 key bytes"),
        (["--out", "there.npz"], "there.npz exists"),
    ],
)
def test_bad_options(run, folder, options, message):
    (folder / "there.npz").touch()
    code, _, err = run("landmarks", "data", *options)
    assert code == 2
    assert message in err
