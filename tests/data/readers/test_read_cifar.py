"""CIFAR-10's Python version: read as it is published, and refused when something is wrong."""

import cv2
import numpy as np
import pytest
from cifar_samples import (
    FOLDER,
    NAMES,
    batch,
    cifar_members,
    pixels,
    python2_array,
    python2_dict,
    python2_list,
    short,
)
from reader_samples import tar_bytes, write_folder, zip_bytes

from fer_lightning.data.cache import load
from fer_lightning.data.image_set import Usage
from fer_lightning.data.readers import read
from fer_lightning.data.splits import make_split
from fer_lightning.errors import UserError


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "cifar-10-python.tar.gz"
    path.write_bytes(tar_bytes(cifar_members(), "w:gz"))
    return path


def test_images_labels_and_parts(archive):
    found = read(archive)
    assert found.name == "CIFAR-10 (partial, 60 images)"
    assert found.classes == NAMES
    assert found.images.shape == (60, 3, 32, 32)
    np.testing.assert_array_equal(found.images[:10], pixels(10, seed=1).reshape(10, 3, 32, 32))
    np.testing.assert_array_equal(found.images[50:], pixels(10, seed=6).reshape(10, 3, 32, 32))
    assert found.labels.tolist() == list(range(10)) * 6
    assert found.usage.tolist() == [Usage.TRAINING] * 50 + [Usage.PRIVATE_TEST] * 10
    assert found.files[11] == f"{FOLDER}/data_batch_2 row 2"


@pytest.mark.parametrize("form", ["folder", "inner", "tar", "zip", "beside"])
def test_every_form_gives_the_same(archive, tmp_path, form):
    members, path = cifar_members(), tmp_path / "other"
    if form == "folder":
        path = write_folder(path, members) / FOLDER
    elif form == "inner":
        write_folder(path, members)
    elif form == "beside":  # the archive somewhere in a folder
        write_folder(path, {"sub/cifar-10-python.tar.gz": archive.read_bytes(), "note": b"x"})
    else:
        path.write_bytes({"tar": tar_bytes, "zip": zip_bytes}[form](members))
    assert read(path).fingerprint == read(archive).fingerprint


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_batches_written_by_python_3(archive, tmp_path, protocol):
    path = tmp_path / "again.tar"
    path.write_bytes(tar_bytes(cifar_members(protocol=protocol)))
    assert read(path).fingerprint == read(archive).fingerprint


def test_size_and_channels(archive):
    whole = read(archive)
    assert read(archive, image_size=16).images.shape == (60, 3, 16, 16)
    grey = read(archive, colour=False, image_size=32).images
    assert grey.shape == (60, 1, 32, 32)
    expected = cv2.cvtColor(whole.images[7].transpose(1, 2, 0).copy(), cv2.COLOR_RGB2GRAY)
    np.testing.assert_array_equal(grey[7, 0], expected)


def test_kept_in_the_cache(archive, tmp_path):
    first, second = (load(archive, tmp_path / "cache") for _ in range(2))
    assert isinstance(second.images, np.memmap)
    assert first.fingerprint == second.fingerprint == read(archive).fingerprint


@pytest.mark.parametrize("protocol", ["official", "train_test"])
def test_a_subset_of_the_whole_is_stratified(archive, protocol):
    data = read(archive)
    split = make_split(data, protocol, train_size=20)
    assert np.bincount(data.labels[split.train]).tolist() == [2] * 10
    assert (data.usage[split.test] == Usage.PRIVATE_TEST).all()
    assert len(split.test) == 10


def data_and_labels(data, labels):
    return python2_dict(data=data, labels=python2_list([b"K" + bytes([k]) for k in labels]))


@pytest.mark.parametrize(
    ("changed", "content", "message"),
    [
        ("test_batch", batch()[:1000], "test_batch is damaged or cut off"),
        ("test_batch", b"", "test_batch is damaged or cut off"),
        ("test_batch", python2_list([b"N"]) + b".", "expected a dict"),
        ("test_batch", python2_dict(labels=b"]"), "expected data of N rows of 3072 bytes"),
        ("test_batch", data_and_labels(python2_array(pixels(2)[:, :9]), [0, 1]), "rows of 3072"),
        ("test_batch", data_and_labels(python2_array(pixels(0)), []), "rows of 3072"),
        ("test_batch", data_and_labels(python2_array(pixels(2)), [0]), "expected 2 labels"),
        ("test_batch", data_and_labels(python2_array(pixels(2)), [0, 10]), "labels from 0 to 9"),
        ("batches.meta", python2_dict(num_vis=b"K\x01"), "expected label_names"),
        ("batches.meta", python2_dict(label_names=python2_list([short(b"a")] * 2)), "different"),
        ("batches.meta", None, "expected batches.meta beside the batches"),
    ],
)
def test_what_is_no_cifar(tmp_path, changed, content, message):
    members = cifar_members() | {f"{FOLDER}/{changed}": content}
    path = tmp_path / "a.tar"
    path.write_bytes(tar_bytes({k: v for k, v in members.items() if v is not None}))
    with pytest.raises(UserError, match=message):
        read(path)


@pytest.mark.parametrize("option", [{"class_names": {"cat": "dog"}}, {"ferplus": "votes.csv"}])
def test_options_that_mean_nothing_here(archive, option):
    with pytest.raises(UserError, match="for the option"):
        read(archive, **option)


def test_a_large_batch(archive, monkeypatch):
    monkeypatch.setattr("fer_lightning.data.readers.limits.MAX_IMAGE_FILE", 30_000)
    with pytest.raises(UserError, match="larger"):
        read(archive)


@pytest.mark.parametrize("name", ["../test_batch", "/test_batch", f"{FOLDER}/../../test_batch"])
def test_members_that_lead_outside(tmp_path, name):
    path = tmp_path / "a.tar"
    path.write_bytes(tar_bytes({name: batch(), **cifar_members()}))
    with pytest.raises(UserError, match="points outside"):
        read(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tar"]
