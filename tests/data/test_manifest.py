import json
from dataclasses import replace

import numpy as np
import pytest

from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.image_set import Usage
from fer_lightning.data.splits import make_split, read_manifest, to_manifest
from fer_lightning.errors import UserError


@pytest.fixture(scope="module")
def faces():
    return drawn_faces(70, with_masks=False)


@pytest.fixture
def saved(faces, tmp_path):
    path = tmp_path / "split.json"
    path.write_text(json.dumps(to_manifest(make_split(faces, seed=3), faces)))
    return path


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_round_trip(faces, saved):
    split, again = make_split(faces, seed=3), read_manifest(saved, faces)
    for part in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(split, part), getattr(again, part))
    assert again.counts == split.counts


def test_round_trip_of_a_split_whose_test_images_are_validation(faces, tmp_path):
    usage = np.where(np.arange(len(faces)) < 50, Usage.TRAINING, Usage.PRIVATE_TEST)
    data = replace(faces, usage=usage.astype(np.int8))
    path = tmp_path / "split.json"
    path.write_text(json.dumps(to_manifest(make_split(data, "train_test"), data)))
    again = read_manifest(path, data)
    assert again.val.tolist() == again.test.tolist() == list(range(50, 70))
    assert "optimistic" in again.notes[0]
    edit(path, protocol="official")
    with pytest.raises(UserError, match="repeats some"):
        read_manifest(path, data)


def test_counts_per_class(faces, saved):
    counts = json.loads(saved.read_text())["images_per_class"]
    assert sum(counts["train"].values()) == 56
    assert set(counts["test"]) == set(faces.classes)


def test_manifest_of_another_data_set(saved):
    with pytest.raises(UserError, match="expected a manifest of this data set"):
        read_manifest(saved, drawn_faces(70, seed=1, with_masks=False))


def test_missing_and_broken_files(faces, tmp_path, saved):
    with pytest.raises(UserError, match="found no file"):
        read_manifest(tmp_path / "nothing.json", faces)
    for text in ("{", "[]", "[" * 100_000, '{"train": "x"}'):
        saved.write_text(text)
        with pytest.raises(UserError, match="could not read"):
            read_manifest(saved, faces)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train": [1, 1], "val": [2], "test": [3]}, "repeats some"),
        ({"train": [1], "val": [1], "test": [3]}, "repeats some"),
        ({"train": [1], "val": [2], "test": [70]}, "expected rows below 70"),
        ({"train": [-1], "val": [2], "test": [3]}, "expected rows below 70"),
        ({"train": [1], "val": [], "test": [3]}, "leaves one empty"),
        ({"train": 10**30}, "could not read"),
    ],
)
def test_impossible_rows(faces, saved, changes, message):
    edit(saved, **changes)
    with pytest.raises(UserError, match=message):
        read_manifest(saved, faces)
