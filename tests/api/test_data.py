"""``load_data``, ``drawn_faces`` and ``drawn_defects``."""

import numpy as np
import pytest
from PIL import Image

import fer_lightning as fl
from fer_lightning.errors import UserError

RNG = np.random.default_rng(0)
PICTURES = RNG.integers(0, 256, (60, 3, 12, 12), np.uint8)
LABELS = np.arange(60) % 3


def test_parts_are_slices_of_the_data(faces):
    assert len(faces.train) + len(faces.val) + len(faces.test) == 140
    some = faces.test[:5]
    assert (len(some), some.images.shape, some.classes) == (5, (5, 1, 32, 32), faces.classes)
    assert np.array_equal(some.rows, faces.split.test[:5])
    assert np.array_equal(some.labels, faces.image_set.labels[some.rows])
    image, label = faces.test[2]
    assert np.array_equal(image, some.images[2])
    assert label == some.labels[2]
    assert len(some[some.labels == label]) >= 1
    assert repr(some) == "5 images of drawn faces"
    with pytest.raises(UserError, match="one of 5 images but got 7"):
        some[7]


def test_arrays():
    data = fl.load_data(PICTURES, LABELS, ["a", "b", "c"], fraction=0.5)
    assert data.sizes == {"num_classes": 3, "in_chans": 3, "image_size": 12}
    assert len(data.train) == 24
    assert np.array_equal(data.test.images, PICTURES[data.test.rows])
    data.setup("fit")
    assert next(iter(data.train_dataloader())).image.shape == (24, 3, 12, 12)


def test_grey_arrays_without_names():
    data = fl.load_data(PICTURES[:, 0], LABELS.tolist())
    assert data.classes == ("0", "1", "2")
    assert data.in_chans == 1


def test_masks_of_arrays():
    mask = np.zeros((60, 12, 12), bool)
    mask[:, :4] = True
    one = fl.load_data(PICTURES, LABELS, masks={"lesion": mask}).image_set.regions
    assert (one.rows, one.primary) == (("lesion",), "lesion")
    two = fl.load_data(PICTURES, LABELS, masks={"nail": mask, "hair": ~mask}).image_set.regions
    assert (two.rows, two.primary) == (("nail", "hair", "all"), "all")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": PICTURES}, "expected labels with an array"),
        ({"source": PICTURES / 255.0, "labels": LABELS}, "of bytes.* but got float64"),
        ({"source": PICTURES[:, :, :5], "labels": LABELS}, "square pictures"),
        ({"source": PICTURES.transpose(0, 2, 3, 1), "labels": LABELS}, "channels before rows"),
        ({"source": PICTURES, "labels": LABELS[:7]}, "60 labels from 0"),
        ({"source": PICTURES, "labels": LABELS - 1}, "60 labels from 0"),
        ({"source": PICTURES, "labels": LABELS, "classes": ["a"]}, "a name for each class"),
        ({"source": PICTURES, "labels": LABELS, "masks": {"a": PICTURES}}, "boolean mask 'a'"),
        ({"source": "nowhere", "labels": LABELS}, "with arrays only"),
    ],
)
def test_arrays_that_do_not_belong_together(options, message):
    with pytest.raises(UserError, match=message):
        fl.load_data(**options)


def test_a_folder(tmp_path):
    for i, (picture, label) in enumerate(zip(PICTURES, LABELS, strict=True)):
        place = tmp_path / "pictures" / "xyz"[label]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture.transpose(1, 2, 0)).save(place / f"{i}.png")
    data = fl.load_data(tmp_path / "pictures", image_size=10)
    assert data.classes == ("x", "y", "z")
    assert data.sizes["image_size"] == 10


def test_no_folder():
    with pytest.raises(UserError, match="nowhere"):
        _ = fl.load_data("nowhere").image_set


def test_drawn_defects_have_their_own_regions():
    assert "defect" in fl.drawn_defects(30, image_size=32).image_set.regions.rows
