import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fer_lightning.data import landmarks
from fer_lightning.data.landmarks import read_landmarks
from fer_lightning.data.masks import template
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
    masks = read_landmarks(path).masks(KEY, (48, 48))
    assert masks is not None
    for found, (name, fixed) in zip(FACE.stack(masks), template().items(), strict=True):
        overlap = (found & fixed).sum() / (found | fixed).sum()
        assert overlap > 0.45, name


def test_csv_and_json_say_the_same(tmp_path: Path) -> None:
    points = face_68().round(2)
    header = ",".join(["sha256", *(f"{axis}{k}" for k in range(68) for axis in "xy")])
    table = tmp_path / "faces.csv"
    table.write_text(f"{header}\n{KEY.upper()},{','.join(map(str, points.ravel()))}\n")
    one = read_landmarks(table).masks(KEY, (48, 48))
    path = write(tmp_path / "faces.json", {KEY: {"points": points.tolist()}})
    two = read_landmarks(path).masks(KEY, (48, 48))
    assert one is not None
    assert two is not None
    assert all(np.array_equal(one[name], two[name]) for name in FACE.base)


def test_named_polygons_are_taken_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path / "f.json", {KEY: {"regions": {name: [SQUARE] for name in FACE.base}}})
    masks = read_landmarks(path).masks(KEY, (48, 48))
    assert masks is not None
    assert {name: int(mask.sum()) for name, mask in masks.items()} == dict.fromkeys(FACE.base, 36)
    assert read_landmarks(path).masks("cd" * 32, (48, 48)) is None


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
    with pytest.raises(UserError, match=r"ending in \.json or \.csv but got faces\.txt"):
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
