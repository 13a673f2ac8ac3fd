"""Features and maps of run folders that may be damaged or hostile."""

import zipfile

import numpy as np
import pytest

from fer_lightning.errors import UserError
from fer_lightning.report.parts import places
from fer_lightning.runs.files import FILES, read_arrays


@pytest.fixture
def folder(tmp_path):
    return tmp_path


def good(n=4):
    return {
        "row": np.arange(n) * 2,
        "label": np.arange(n) % 7,
        "features": np.ones((n, 3), np.float32),
        "points": np.zeros((n, 2), np.float32),
    }


def test_what_was_saved_comes_back(folder):
    colour = np.arange(4 * 3 * 5 * 5, dtype=np.uint8).reshape(4, 3, 5, 5)
    np.savez_compressed(folder / "features.npz", **good(), faces=colour)
    found = FILES["features"].read(folder)
    assert found.row.tolist() == [0, 2, 4, 6]
    np.testing.assert_array_equal(found.faces, colour.transpose(0, 2, 3, 1))
    np.savez_compressed(folder / "features.npz", **good(), faces=colour[:, :1])
    np.testing.assert_array_equal(FILES["features"].read(folder).faces, colour[:, 0])


def test_older_runs_have_no_faces_and_slim_ones_nothing(folder):
    assert FILES["features"].read(folder) is None
    assert FILES["maps"].read(folder) is None
    np.savez_compressed(folder / "features.npz", **good())
    assert FILES["features"].read(folder).faces is None


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
def test_arrays_that_do_not_fit_are_refused(folder, change):
    np.savez_compressed(folder / "features.npz", **(good() | change))
    with pytest.raises(UserError, match=r"arrays that fit each other|expected numbers"):
        FILES["features"].read(folder)


def test_maps_of_one_method_and_of_several(folder):
    heat = np.full((2, 4, 4), 0.5, np.float16)
    np.savez_compressed(folder / "maps.npz", row=np.arange(2), heat=heat)
    found = FILES["maps"].read(folder)
    assert (found.method, dict(found.others)) == ("grad_cam", {})
    several = {"method": np.array("smooth_grad"), "heat": heat, "heat_occlusion": 1 - heat[:, :2]}
    np.savez_compressed(folder / "maps.npz", row=np.arange(2), **several)
    found = FILES["maps"].read(folder)
    assert found.method == "smooth_grad"
    assert found.heat.shape == (2, 4, 4)
    assert {name: heat.shape for name, heat in found.others.items()} == {"occlusion": (2, 2, 4)}
    np.savez_compressed(folder / "maps.npz", row=np.arange(2), heat=heat, heat_occlusion=heat[:1])
    with pytest.raises(UserError, match="arrays that fit each other"):
        FILES["maps"].read(folder)


def test_maps_must_belong_to_rows(folder):
    np.savez_compressed(folder / "maps.npz", row=np.arange(3), heat=np.ones((2, 4, 4)))
    with pytest.raises(UserError, match="arrays that fit each other"):
        FILES["maps"].read(folder)


def test_objects_are_never_unpickled(folder):
    path = folder / "maps.npz"
    np.savez(path, row=np.arange(1), heat=np.array([{"a": 1}], dtype=object))
    with pytest.raises(UserError, match="heat holds objects, which could execute code"):
        read_arrays(path, ("row", "heat"))


def test_a_bomb_is_not_unpacked(folder, monkeypatch):
    path = folder / "maps.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("row.npy", bytes(2_000_000))
    monkeypatch.setattr("fer_lightning.runs.files.MAX_ARRAYS", 1_000_000)
    with pytest.raises(UserError, match="unpacks to 2,000,000 bytes"):
        read_arrays(path, ("row",))


@pytest.mark.parametrize("shape", ["(10000000000, 100)", "(-1, -3)", "(2, 2)", "()" * 200_000])
def test_a_header_cannot_ask_for_more_than_is_there(folder, shape):
    """numpy.load would take 8 TB, or raise a MemoryError."""
    path = folder / "maps.npz"
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    start = b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("row.npy", start + bytes(24))
    with pytest.raises(UserError, match="copy the file again"):
        read_arrays(path, ("row",))


def test_columns_first_and_empty_arrays_are_read(folder):
    path = folder / "maps.npz"
    arrays = {"row": np.asfortranarray(np.arange(6).reshape(2, 3)), "heat": np.zeros((0, 4, 4))}
    np.savez(path, **arrays)
    found = read_arrays(path, tuple(arrays))
    assert found["row"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["heat"].shape == (0, 4, 4)


def test_a_cut_file_is_damaged(folder):
    path = folder / "features.npz"
    np.savez_compressed(path, **good())
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(UserError, match="copy the file again"):
        FILES["features"].read(folder)


def test_places_finds_rows_in_any_order():
    assert places(np.array([5, 1, 2]), np.array([2, 9, 5])).tolist() == [2, -1, 0]
    assert places(np.array([5]), np.array([], int)).tolist() == [-1]
