"""Masks in the batch: the right ones, moved with their image, and only where asked for."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fer_lightning.data.augment import Augmentation
from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.masks import image_key, masks_for, region_masks, template
from fer_lightning.data.regions import FACE
from fer_lightning.errors import UserError


def test_exact_masks_and_the_template():
    faces, rows = drawn_faces(20), np.array([3, 11])
    for at, region in enumerate(FACE.order):
        exact = region_masks(faces, rows, region)
        np.testing.assert_array_equal(exact, masks_for(faces, rows)[:, at])
        same = region_masks(replace(faces, masks=None), rows, region)
        assert same.shape == (2, 48, 48)
        np.testing.assert_array_equal(same[1], template(48)[region])


def test_many_exact_masks_keep_their_order(monkeypatch):
    monkeypatch.setattr("fer_lightning.data.masks.AT_ONCE", 2)
    faces, rows = drawn_faces(20), np.array([3, 11, 0, 7, 5])
    found = region_masks(faces, rows, "key")
    np.testing.assert_array_equal(found, masks_for(faces, rows)[:, FACE.order.index("key")])


@pytest.fixture
def data():
    how = Augmentation(flip=0.5, rotation=30, translation=0.2)
    data = FERDataModule(source="drawn", drawn=Drawn(size=140), augmentation=how, batch_size=16)
    data.setup("fit")
    data.trainer = SimpleNamespace(training=True, global_rank=0, world_size=1)
    return data


def test_a_mask_moves_with_its_image(data):
    data.add_masks("mouth")
    part = data.parts["train"]
    # then an image is its own mask
    part.images, part.rows = 255 * part.mask[:, None].numpy(), np.arange(len(part))
    batch = next(iter(data.train_dataloader()))
    moved = data.on_after_batch_transfer(batch, 0)
    torch.testing.assert_close(moved.mask, moved.image[:, 0])
    assert not torch.equal(moved.mask, batch.mask.float())


def test_masks_belong_to_their_rows(data):
    data.add_masks("key")
    batch = next(iter(data.train_dataloader()))
    expected = masks_for(data.image_set, batch.row.numpy())[:, FACE.order.index("key")]
    np.testing.assert_array_equal(batch.mask.numpy(), expected)


def test_masks_change_no_image(data):
    batch = next(iter(data.train_dataloader()))
    assert batch.mask is None
    torch.manual_seed(1)
    plain = data.on_after_batch_transfer(batch, 0).image
    data.add_masks("key")
    torch.manual_seed(1)
    again = data.on_after_batch_transfer(next(iter(data.train_dataloader())), 0).image
    assert torch.equal(plain, again)
    assert next(iter(data.val_dataloader())).mask is None


def test_landmarks_take_the_place_of_the_template(tmp_path):
    faces, path = replace(drawn_faces(20), masks=None), tmp_path / "landmarks.json"
    square = [[[10, 20], [29, 20], [29, 39], [10, 39]]]
    regions = dict.fromkeys(("eyes", "eyebrow", "nose", "mouth", "face"), square)
    path.write_text(json.dumps({image_key(faces.images[4]): {"regions": regions}}))
    data = FERDataModule(landmarks=str(path))
    other_classes = replace(faces, classes=tuple("abcdefg"), scheme=None)
    data._read_or_draw = lambda: other_classes
    data.check_regions("nose")  # landmarks tell that it has faces
    known, other = region_masks(data.image_set, np.array([4, 5]), "nose", data.landmarks)
    assert (known[21:39, 11:29] == 1).all()
    assert known.sum() <= 20 * 20
    np.testing.assert_array_equal(other, template(48)["nose"])


def test_a_missing_landmark_file(tmp_path):
    with pytest.raises(UserError, match="landmark file but got no file"):
        _ = FERDataModule(landmarks=str(tmp_path / "none.json")).landmarks


def test_unknown_region_and_no_faces():
    faces = drawn_faces(20)
    with pytest.raises(UserError, match="got 'eye'; did you mean 'eyes'"):
        region_masks(faces, np.arange(2), "eye")
    classes = ("cat", "dog", *faces.classes[2:])
    things = replace(faces, masks=None, scheme=None, name="CIFAR-10", classes=classes)
    with pytest.raises(UserError, match="expected a data set with regions but CIFAR-10 has none"):
        region_masks(things, np.arange(2), "key")
