import json
from dataclasses import replace

import cv2
import numpy as np
import pytest

from fer_lightning.data.augment import Augmentation
from fer_lightning.data.datamodule import Drawn, FERDataModule, Files, pixel_statistics
from fer_lightning.data.faces import drawn_faces
from fer_lightning.errors import UserError


@pytest.fixture
def folder(tmp_path):
    """Drawn faces as picture files: train/<class>/*.png and test/<class>/*.png."""
    faces = drawn_faces(140, with_masks=False)
    for i in range(140):
        part = "train" if i < 112 else "test"
        place = tmp_path / "faces" / part / faces.classes[faces.labels[i]]
        place.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(place / f"{i:03}.png"), faces.images[i, 0])
    return tmp_path / "faces"


def test_files_and_drawn_faces_give_the_same_pixels(folder):
    data = FERDataModule(str(folder), split="official")
    assert data.image_set.images.shape == (140, 1, 48, 48)
    assert (data.num_classes, data.in_chans, data.image_size) == (7, 1, 48)
    data.setup("test")
    (batch,) = data.test_dataloader()
    drawn = drawn_faces(140, with_masks=False).images[112:]
    assert {image.tobytes() for image in batch.image.numpy()} == {i.tobytes() for i in drawn}


def test_reader_options_arrive(folder):
    data = FERDataModule(str(folder), files=Files(image_size=32, colour=True))
    assert data.image_set.images.shape == (140, 3, 32, 32)


def test_a_manifest_repeats_a_split(folder, tmp_path):
    first = FERDataModule(str(folder), split_seed=5, fraction=0.5)
    path = tmp_path / "split.json"
    path.write_text(json.dumps(first.manifest()))
    again = FERDataModule(str(folder), manifest=str(path))
    for part in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(first.split, part), getattr(again.split, part))


def test_only_training_is_augmented():
    data = FERDataModule(source="drawn", drawn=Drawn(size=70), augmentation=Augmentation(flip=1))
    data.setup("fit")
    batch = next(iter(data.val_dataloader()))
    scaled = data.on_after_batch_transfer(batch, 0).image
    np.testing.assert_allclose(scaled.numpy(), batch.image.numpy() / 255, atol=1e-6)


def test_a_given_path_is_never_replaced_by_drawn_faces(tmp_path):
    with pytest.raises(UserError, match="nowhere"):
        _ = FERDataModule(str(tmp_path / "nowhere")).image_set


def test_without_data_faces_are_drawn_loudly(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert FERDataModule(drawn=Drawn(size=70)).image_set.name == "drawn faces"
    assert "DRAWN FACES, NOT FER-2013" in capsys.readouterr().err


def test_the_default_folder_is_used_when_it_holds_data(folder, tmp_path, monkeypatch, capsys):
    folder.rename(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    assert len(FERDataModule().image_set) == 140
    assert "DRAWN" not in capsys.readouterr().err


def test_the_user_is_told_about_parts_and_copies(folder):
    copy = folder / "train" / "happy" / "copy.png"
    copy.write_bytes(min((folder / "test" / "happy").iterdir()).read_bytes())
    said = FERDataModule(str(folder), split="official").describe()
    assert "141 images, 101 train, 11 val, 28 test; official split" in said
    assert "1 images moved or left out to keep copies and near-twins together" in said
    assert "0 val and 0 test images have a twin in train" in said
    assert "the source has no validation part" in said
    leaking = FERDataModule(str(folder), split="official", duplicates="keep").describe()
    assert "0 val and 1 test images have a twin in train" in leaking


@pytest.mark.parametrize("option", ["batch_size", "eval_batch_size"])
def test_impossible_batch(option):
    with pytest.raises(UserError, match=f"expected {option} of at least 1 but got 0"):
        FERDataModule(**{option: 0})


def test_pixel_statistics_are_those_of_the_training_images_by_channel():
    colour = np.random.default_rng(0).integers(0, 256, (2050, 3, 4, 4)).astype(np.uint8)
    rows = np.arange(0, 2050, 2)  # more than are counted at once
    mean, std = pixel_statistics(colour, rows)
    assert mean == pytest.approx((colour[rows] / 255).mean((0, 2, 3)).tolist())
    assert std == pytest.approx((colour[rows] / 255).std((0, 2, 3)).tolist())


def test_scale_unit_asks_for_nothing_and_black_pictures_cannot_be_standardised():
    black = replace(drawn_faces(40, with_masks=False), images=np.zeros((40, 1, 8, 8), np.uint8))
    assert FERDataModule.of(black).pixel_scale == {}
    with pytest.raises(UserError, match="expected training pixels that differ"):
        _ = FERDataModule.of(black, scale="standard", duplicates="keep").pixel_scale
