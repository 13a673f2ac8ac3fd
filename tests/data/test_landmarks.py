import io
import json
import lzma
import os
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fer_lightning.data import landmarks
from fer_lightning.data.cache import load
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.landmarks import (
    Landmarks,
    check_fit,
    face_masks,
    landmarks_of,
    read_landmarks,
    shipped_landmarks,
    write_landmarks,
)
from fer_lightning.data.masks import find_masks, image_key, template
from fer_lightning.data.regions import FACE
from fer_lightning.errors import UserError

KEY = "ab" * 32
SQUARE = [[2, 2], [8, 2], [8, 8], [2, 8]]


def arc(x0: float, x1: float, y0: float, y1: float, count: int) -> NDArray[np.float64]:
    """Points along a bow from (x0, y0) over the height y1 in the middle to (x1, y0)."""
    t = np.linspace(0, 1, count)
    return np.stack([x0 + (x1 - x0) * t, y0 + (y1 - y0) * np.sin(np.pi * t)], axis=1)


def face_68() -> NDArray[np.float64]:
    """A frontal face on the template's landmarks, 48 pixels."""
    ring = np.linspace(np.pi, 3 * np.pi, 12, endpoint=False)
    mouth = np.stack([24.5 + 8 * np.cos(ring), 37 + 3 * np.sin(ring)], axis=1)
    six = np.linspace(np.pi, 3 * np.pi, 6, endpoint=False)
    eye = np.stack([4.5 * np.cos(six), 2 * np.sin(six)], axis=1)
    points = [
        arc(7, 42, 20, 47, 17),
        arc(9, 20, 14, 12, 5),
        arc(29, 40, 14, 12, 5),
        np.stack([np.full(4, 24.5), np.linspace(19, 28, 4)], axis=1),
        arc(20, 29, 30, 31.5, 5),
        eye + np.array([15.5, 19]),
        eye + np.array([33.5, 19]),
        mouth,
        0.6 * (mouth[:8] - [24.5, 37]) + [24.5, 37],
    ]
    return np.concatenate(points)


def write(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data))
    return path


def test_68_points_give_regions_like_the_template(tmp_path: Path) -> None:
    path = write(tmp_path / "faces.json", {KEY: {"points": face_68().tolist()}})
    (masks,), known = read_landmarks(path).masks([KEY], (48, 48))
    assert known.tolist() == [True]
    for found, (name, fixed) in zip(masks, template().items(), strict=True):
        overlap = (found & fixed).sum() / (found | fixed).sum()
        assert overlap > 0.45, name


def test_csv_and_json_say_the_same(tmp_path: Path) -> None:
    points = face_68().round(2)
    header = ",".join(["sha256", *(f"{axis}{k}" for k in range(68) for axis in "xy")])
    table = tmp_path / "faces.csv"
    table.write_text(f"{header}\n{KEY.upper()},{','.join(map(str, points.ravel()))}\n")
    one, _ = read_landmarks(table).masks([KEY], (48, 48))
    path = write(tmp_path / "faces.json", {KEY: {"points": points.tolist()}})
    two, _ = read_landmarks(path).masks([KEY], (48, 48))
    assert one.any()
    assert np.array_equal(one, two)


def test_named_polygons_are_taken_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path / "f.json", {KEY: {"regions": {name: [SQUARE] for name in FACE.base}}})
    masks, known = read_landmarks(path).masks([KEY, "cd" * 32], (48, 48))
    assert known.tolist() == [True, False]
    assert masks.sum((2, 3)).tolist() == [[36] * 7, [0] * 7]


BAD_JSON = {
    "no list": ('[["x"]]', "no object of image hashes"),
    "cut off": ('{"', "malformed"),
    "short hash": ('{"abc": {}}', "no SHA-256"),
    "no regions": (f'{{"{KEY}": {{}}}}', "neither points nor regions"),
    "number": (f'{{"{KEY}": 5}}', "neither points nor regions"),
    "67 points": (json.dumps({KEY: {"points": face_68()[:67].tolist()}}), "67 landmarks"),
    "NaN": (json.dumps({KEY: {"points": [[float("nan"), 1]] * 68}}), "no pair of pixel"),
    "far away": (json.dumps({KEY: {"points": [[1e30, 1]] * 68}}), "no pair of pixel"),
    "text": (json.dumps({KEY: {"points": [["1", 1]] * 68}}), "no pair of pixel"),
    "true": (json.dumps({KEY: {"points": [[True, 1]] * 68}}), "no pair of pixel"),
    "many points": (json.dumps({KEY: {"points": [[1, 1]] * 9999}}), "3 to 512 points"),
    "many polygons": (
        json.dumps({KEY: {"regions": {name: [SQUARE] * 9 for name in FACE.base}}}),
        "1 to 8 polygons",
    ),
    "deep": ("[" * 100_000, "malformed"),
    "empty": ("{}", "got none"),
}


@pytest.mark.parametrize("case", BAD_JSON)
def test_bad_json_is_refused(tmp_path: Path, case: str) -> None:
    text, message = BAD_JSON[case]
    path = tmp_path / "faces.json"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_landmarks(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "the header"), ("a,b\n", "the header"), ("HEADER\nabc,1\n", "line 2 has 2 fields")],
)
def test_bad_csv_is_refused(tmp_path: Path, text: str, message: str) -> None:
    header = ",".join(["sha256", *(f"{axis}{k}" for k in range(68) for axis in "xy")])
    path = tmp_path / "faces.csv"
    path.write_text(text.replace("HEADER", header))
    with pytest.raises(UserError, match=message):
        read_landmarks(path)


def test_a_missing_unknown_or_huge_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="no file at"):
        read_landmarks(tmp_path / "absent.json")
    with pytest.raises(UserError, match=r"ending in \.npz, .* or \.json but got faces\.txt"):
        read_landmarks(write(tmp_path / "faces.txt", {}))
    monkeypatch.setattr(landmarks, "MAX_BYTES", 3)
    with pytest.raises(UserError, match="at most 0 MB"):
        read_landmarks(write(tmp_path / "faces.json", {KEY: {}}))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from([KEY, "points", "regions", *FACE.base]), inner, max_size=5
            )
        ),
    )
)
def test_any_json_is_read_or_refused(tmp_path: Path, data: object) -> None:
    path = write(tmp_path / "any.json", {KEY: data})
    with pytest.raises(UserError):  # too small to hold 68 points or five good regions
        read_landmarks(path)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_are_refused(tmp_path: Path, data: bytes) -> None:
    for name in ("any.csv", "any.json"):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError):
            read_landmarks(tmp_path / name)


# --- Arrays


def arrays(**changed: object) -> dict[str, object]:
    points = np.round(face_68() * 4 + 32).astype(np.uint8)[None]
    key = np.frombuffer(bytes.fromhex(KEY), np.uint8)[None]
    plain = {"sha256": key, "points": points, "score": np.array([255], np.uint8)}
    return {**plain, "scale": np.array([4]), "offset": np.array([8]), **changed}


def npz(path: Path, **changed: object) -> Path:
    np.savez(path, **{k: v for k, v in arrays(**changed).items() if v is not None})
    return path


@pytest.mark.parametrize("size", [48, 100, 4000])
@pytest.mark.parametrize("key_bytes", [8, 32])
def test_what_is_written_is_read(tmp_path: Path, size: int, key_bytes: int) -> None:
    points = (face_68() * size / 48).astype(np.float32)[None]
    key = np.frombuffer(bytes.fromhex(KEY), np.uint8)[None, :key_bytes]
    path = tmp_path / "faces.npz"
    with path.open("wb") as file:
        write_landmarks(file, key, points, np.array([0.9], np.float32), (size, size))
    found = read_landmarks(path)
    step = {48: 0.25, 100: 1 / 128, 4000: 0.25}[size]
    assert np.abs(found.points - points).max() <= step / 2 + 1e-4
    assert found.score.tolist() == [230]
    assert found.find([KEY, "cd" * 32]).tolist() == [0, -1]


def test_a_rejected_face_and_one_out_of_the_picture_have_no_masks(tmp_path: Path) -> None:
    points = np.repeat(np.round(face_68() * 4 + 32).astype(np.int16)[None], 3, axis=0)
    points[2, :, 1] += 30 * 4  # the mouth is below the picture
    keys = np.frombuffer(bytes.fromhex(KEY * 3), np.uint8).reshape(3, 32).copy()
    keys[:, 0] = range(3)
    score = np.array([128, 127, 255], np.uint8)
    found = read_landmarks(npz(tmp_path / "f.npz", sha256=keys, points=points, score=score))
    names = [key.tobytes().hex() for key in keys]
    masks, known = found.masks([*names, names[0]], (48, 48))
    assert known.tolist() == [True, False, False, True]
    assert np.array_equal(masks[0], masks[3])
    assert found.accepted(names).tolist() == [True, False, True]


BAD_ARRAYS = {
    "67 points": ({"points": arrays()["points"][:, :67]}, "67 landmarks instead of 68"),
    "NaN": ({"points": np.full((1, 68, 2), np.nan, np.float32)}, "no pair of pixel"),
    "infinite": ({"points": np.full((1, 68, 2), np.inf, np.float32)}, "no pair of pixel"),
    "far away": ({"points": np.full((1, 68, 2), 1e30, np.float32)}, "no pair of pixel"),
    "no scale": ({"scale": np.array([0])}, "scale is 0.0"),
    "three coordinates": ({"points": np.zeros((1, 68, 3), np.uint8)}, "instead of"),
    "short hash": ({"sha256": np.zeros((1, 7), np.uint8)}, "8 to 32"),
    "two hashes": ({"sha256": np.zeros((2, 8), np.uint8)}, "instead of"),
    "two scores": ({"score": np.zeros(2, np.uint8)}, "score is uint8"),
    "objects": ({"points": np.array([None])}, "malformed"),
    "text": ({"points": np.array(["x"])}, "instead of"),
    "no points": ({"points": None}, "no array points"),
    "nothing": ({"sha256": np.zeros((0, 8), np.uint8)}, "no array sha256, or an empty one"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_arrays_are_refused(tmp_path: Path, case: str) -> None:
    changed, message = BAD_ARRAYS[case]
    with pytest.raises(UserError, match=message):
        read_landmarks(npz(tmp_path / "faces.npz", **changed))


def test_archive_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = npz(tmp_path / "faces.npz")
    with zipfile.ZipFile(tmp_path / "header.npz", "w") as bomb, zipfile.ZipFile(path) as good:
        for name in good.namelist():
            data = good.read(name)
            bomb.writestr(name, data.replace(b"(1, 68, 2)", b"(9999999,)"))
    with pytest.raises(UserError, match="does not hold what its header says"):
        read_landmarks(tmp_path / "header.npz")
    with zipfile.ZipFile(tmp_path / "large.npz", "w", zipfile.ZIP_DEFLATED) as bomb:
        for name in arrays():
            bomb.writestr(f"{name}.npy", b"0" * 300_000)
    monkeypatch.setattr(landmarks, "MAX_BYTES", 1_000_000)
    with pytest.raises(UserError, match="unpacks to"):
        read_landmarks(tmp_path / "large.npz")
    (tmp_path / "large.npz.xz").write_bytes(lzma.compress(b"0" * 2_000_000))
    with pytest.raises(UserError, match="too large unpacked"):
        read_landmarks(tmp_path / "large.npz.xz")
    (tmp_path / "cut.npz.xz").write_bytes(lzma.compress(path.read_bytes())[:-20])
    with pytest.raises(UserError, match=r"cut off|no xz file"):
        read_landmarks(tmp_path / "cut.npz.xz")


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=30), st.integers(0, 2000))
def test_damaged_arrays_are_read_or_refused(tmp_path: Path, junk: bytes, place: int) -> None:
    file = io.BytesIO()
    np.savez(file, **arrays())
    raw = bytearray(file.getvalue())
    raw[place : place + len(junk)] = junk
    (tmp_path / "any.npz").write_bytes(raw)
    with suppress(UserError):
        read_landmarks(tmp_path / "any.npz")


def test_landmarks_of_other_pictures_are_refused(tmp_path: Path) -> None:
    faces = replace(drawn_faces(7), masks=None)
    with pytest.raises(UserError, match="knows none of its 7 images"):
        landmarks_of(faces, str(npz(tmp_path / "faces.npz")))
    assert landmarks_of(faces) is None  # the shipped ones do not know them
    assert landmarks_of(faces, "none") is None


def test_points_far_outside_the_pictures_are_refused() -> None:
    faces = drawn_faces(7)
    key = np.frombuffer(bytes.fromhex(image_key(faces.images[5])), np.uint8)[None]
    far = (face_68() * 10).astype(np.float32)[None]
    with pytest.raises(UserError, match=r"far outside of drawn/000005"):
        check_fit(Landmarks(key, far, np.array([200], np.uint8)), faces)
    check_fit(Landmarks(key, far, np.array([20], np.uint8)), faces)  # rejected: never used


def test_masks_are_those_of_the_outlines_and_kept() -> None:
    key = np.frombuffer(bytes.fromhex(KEY), np.uint8)[None]
    found = Landmarks(key, face_68().astype(np.float32)[None], np.array([255], np.uint8))
    (first,), _ = found.masks([KEY], (40, 52))
    again, _ = found.masks([KEY], (40, 52))
    expected = face_masks(found.points.astype(float), (40, 52))[0]
    assert np.array_equal(first[FACE.order.index("nose")], expected[FACE.base.index("nose")])
    assert np.array_equal(first, again[0])


def test_the_shipped_landmarks() -> None:
    found = shipped_landmarks()
    assert len(found) == 34_034
    assert found.keys.shape[1] == 8
    assert (found.score > 127).mean() == pytest.approx(0.962, abs=0.003)
    middle = np.median(found.points[found.score > 127], axis=0)
    assert middle[36:42].mean(0) == pytest.approx([15.2, 18.2], abs=1)  # see test_regions
    assert middle[48:60].mean(0) == pytest.approx([24.0, 36.1], abs=1.5)


@pytest.mark.real_data
def test_fer2013_has_its_regions_with_no_option_given() -> None:
    data = FERDataModule(data_dir=os.environ["FER2013"])
    faces = load(os.environ["FER2013"])
    rows = np.arange(0, len(faces), 100)
    own = find_masks(faces, rows, landmarks=data.landmarks)
    share = np.mean([word == "landmarks" for word in own.regions_from])
    assert 0.93 < share < 0.99
    assert "the template for" in data.regions_note
    assert "angry" in data.regions_note
    off = FERDataModule(data_dir=os.environ["FER2013"], landmarks="none")
    assert off.landmarks is None
    assert off.image_set.fingerprint == data.image_set.fingerprint
