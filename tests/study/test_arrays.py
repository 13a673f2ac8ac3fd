"""Features and maps of run folders that may be damaged or hostile."""

import zipfile

import numpy as np
import pytest

from fer_lightning.errors import UserError
from fer_lightning.runs.arrays import places, read_arrays, read_embedding, read_maps
from fer_lightning.runs.run import Run


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path, "cnn", 1.0, 1)


def good(n=4):
    return {
        "row": np.arange(n) * 2,
        "label": np.arange(n) % 7,
        "features": np.ones((n, 3), np.float32),
        "points": np.zeros((n, 2), np.float32),
    }


def test_what_was_saved_comes_back(run):
    colour = np.arange(4 * 3 * 5 * 5, dtype=np.uint8).reshape(4, 3, 5, 5)
    np.savez_compressed(run.path / "features.npz", **good(), faces=colour)
    found = read_embedding(run)
    assert found.row.tolist() == [0, 2, 4, 6]
    np.testing.assert_array_equal(found.faces, colour.transpose(0, 2, 3, 1))
    np.savez_compressed(run.path / "features.npz", **good(), faces=colour[:, :1])
    np.testing.assert_array_equal(read_embedding(run).faces, colour[:, 0])


def test_older_runs_have_no_faces_and_slim_ones_nothing(run):
    assert read_embedding(run) is None
    assert read_maps(run) is None
    np.savez_compressed(run.path / "features.npz", **good())
    assert read_embedding(run).faces is None


@pytest.mark.parametrize(
    "change",
    [
        {"label": np.arange(3)},
        {"points": np.zeros((4, 3))},
        {"features": np.ones(4)},
        {"row": np.ones(4)},
        {"faces": np.zeros((4, 2, 5, 5), np.uint8)},
        {"faces": np.zeros((3, 1, 5, 5), np.uint8)},
        {"label": np.array(["a", "b", "c", "d"])},
    ],
)
def test_arrays_that_do_not_fit_are_refused(run, change):
    np.savez_compressed(run.path / "features.npz", **(good() | change))
    with pytest.raises(UserError, match=r"features\.npz but got"):
        read_embedding(run)


def test_maps_must_belong_to_rows(run):
    np.savez_compressed(run.path / "maps.npz", row=np.arange(3), heat=np.ones((2, 4, 4)))
    with pytest.raises(UserError, match=r"maps\.npz but got shapes"):
        read_maps(run)


def test_objects_are_never_unpickled(run):
    path = run.path / "maps.npz"
    np.savez(path, row=np.arange(1), heat=np.array([{"a": 1}], dtype=object))
    with pytest.raises(UserError, match="allow_pickle"):
        read_arrays(path, ("row", "heat"))


def test_a_bomb_is_not_unpacked(run, monkeypatch):
    path = run.path / "maps.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("row.npy", bytes(2_000_000))
    monkeypatch.setattr("fer_lightning.runs.arrays.MAX_ARRAYS", 1_000_000)
    with pytest.raises(UserError, match="unpacks to 2,000,000 bytes"):
        read_arrays(path, ("row",))


def test_a_cut_file_is_damaged(run):
    path = run.path / "features.npz"
    np.savez_compressed(path, **good())
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(UserError, match="copy the file again"):
        read_embedding(run)


def test_places_finds_rows_in_any_order():
    assert places(np.array([5, 1, 2]), np.array([2, 9, 5])).tolist() == [2, -1, 0]
    assert places(np.array([5]), np.array([], int)).tolist() == [-1]
