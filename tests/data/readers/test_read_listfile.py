import numpy as np
import pytest
from reader_samples import encode, faces, write_folder, zip_bytes

from fer_lightning.data.image_set import Usage
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.readers import read
from fer_lightning.errors import UserError

RAF_NAMES = {
    "1": "surprise",
    "2": "fear",
    "3": "disgust",
    "4": "happiness",
    "5": "sadness",
    "6": "anger",
    "7": "neutral",
}


def raf_db():
    """Return RAF-DB's layout: a list in one folder, pictures in two others."""
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (8, 100, 100, 3), dtype=np.uint8)
    names = [f"train_{i:05d}" for i in range(1, 8)] + ["test_0001"]
    labels = [1, 2, 3, 4, 5, 6, 7, 5]
    members = {
        "basic/EmoLabel/list_patition_label.txt": "".join(
            f"{name}.jpg {label}\n" for name, label in zip(names, labels, strict=True)
        ).encode()
    }
    for name, picture in zip(names, pictures, strict=True):
        members[f"basic/Image/aligned/{name}_aligned.jpg"] = encode(picture, ".jpg")
        members[f"basic/Image/original/{name}.jpg"] = encode(picture[:50], ".jpg")
    return members


@pytest.mark.parametrize("packed", [False, True])
def test_raf_db(tmp_path, packed):
    path = write_folder(tmp_path / "raf", raf_db())
    if packed:
        path = tmp_path / "raf.zip"
        path.write_bytes(zip_bytes(raf_db()))
    found = read(path, class_names=RAF_NAMES)
    assert found.name == "raf"
    assert found.images.shape == (8, 3, 100, 100)
    assert found.classes == FER_CLASSES
    rows = dict(zip(found.files.tolist(), found.labels.tolist(), strict=True))
    assert rows["basic/Image/aligned/train_00004_aligned.jpg"] == FER_CLASSES.index("happy")
    assert rows["basic/Image/aligned/test_0001_aligned.jpg"] == FER_CLASSES.index("sad")
    assert np.bincount(found.usage).tolist() == [7, 0, 1]


def test_without_class_names_the_numbers_are_the_classes(tmp_path):
    found = read(write_folder(tmp_path, raf_db()))
    assert found.classes == ("1", "2", "3", "4", "5", "6", "7")


def test_a_list_file_itself_with_commas_and_a_header(tmp_path):
    members = {
        "labels.csv": b"image,label\r\nimg/a b.png,cat\r\n\r\nimg/c.png,dog\r\n",
        "img/a b.png": encode(faces(2)[0]),
        "img/c.png": encode(faces(2)[1]),
        "img/d.png": encode(faces(2)[1]),
    }
    found = read(write_folder(tmp_path, members) / "labels.csv")
    assert found.files.tolist() == ["img/a b.png", "img/c.png"]
    assert [found.classes[k] for k in found.labels] == ["cat", "dog"]
    assert found.usage.tolist() == [Usage.UNKNOWN] * 2
    assert np.array_equal(found.images[:, 0], faces(2))


def test_lists_for_train_and_test_are_joined(tmp_path):
    members = {
        "train_list.txt": b"x/1.png cat\nx/2.png dog\n",
        "test_list.txt": b"x/3.png dog\n",
    } | {f"x/{i}.png": encode(faces(1)[0]) for i in (1, 2, 3)}
    found = read(write_folder(tmp_path, members))
    assert found.usage.tolist() == [Usage.TRAINING, Usage.TRAINING, Usage.PRIVATE_TEST]


def test_of_lists_that_overlap_the_longest_counts(tmp_path):
    members = {
        "a.txt": b"x/1.png cat\n",
        "b.txt": b"x/1.png ant\nx/2.png bee\n",
    } | {f"x/{i}.png": encode(faces(1)[0]) for i in (1, 2)}
    assert read(write_folder(tmp_path, members)).classes == ("ant", "bee")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"x/1.png 1\nx/9.png 2\n", r"x/9\.png \(line 2 of list\.txt\).*not there"),
        (b"x/1.png 1\nnonsense\n", "but got 'nonsense' in line 2"),
        (b"x/1.png 1\nx/1.png 2\n", "line 2 of list.txt repeats"),
        (b"x/1.png 1\n3.png 2\n", r"has y/3\.png and z/3\.png"),
        (b"x/1.png 1\n/etc/passwd.png 2\n", "not there"),
        (b"x/1.png 1\n../../x.png 2\n", "not there"),
        (b"x/1.png 1\nx/2.png 1\n", "at least two classes"),
    ],
)
def test_a_fault_is_told_with_its_line(tmp_path, text, message):
    members = {"list.txt": text} | {
        name: encode(faces(1)[0]) for name in ("x/1.png", "x/2.png", "y/3.png", "z/3.png")
    }
    with pytest.raises(UserError, match=message):
        read(write_folder(tmp_path, members) / "list.txt")


def test_a_list_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr("fer_lightning.data.readers.limits.MAX_LIST_FILE", 10)
    with pytest.raises(UserError, match="too large"):
        read(write_folder(tmp_path, raf_db()))
