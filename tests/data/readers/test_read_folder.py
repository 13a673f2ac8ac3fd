import numpy as np
import pytest
from reader_samples import CLASSES, encode, faces, fer_members, tar_bytes, write_folder, zip_bytes

from fer_lightning.data.image_set import Usage
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.readers import has_fer2013, read
from fer_lightning.data.readers.layout import find_layouts
from fer_lightning.errors import UserError


def test_train_and_test_folders_with_official_names(tmp_path):
    found = read(write_folder(tmp_path, fer_members()))
    assert found.images.shape == (14, 1, 48, 48)
    assert found.classes == FER_CLASSES
    assert found.name == "FER-2013 (partial, 14 images)"
    by_file = dict(zip(found.files.tolist(), range(14), strict=True))
    fear = by_file["test/fear/PrivateTest_2.png"]
    assert found.labels[fear] == 2
    assert found.usage[fear] == Usage.PRIVATE_TEST
    assert np.array_equal(found.images[fear, 0], faces(14)[9])
    assert found.usage[by_file["test/disgust/PublicTest_1.png"]] == Usage.PUBLIC_TEST
    assert np.bincount(found.usage).tolist() == [7, 3, 4]


@pytest.mark.parametrize("validation", ["validation", "val", "valid", "Validation"])
def test_train_and_validation_without_official_names(tmp_path, validation):
    members = {}
    for i, name in enumerate(CLASSES):
        members[f"images/train/{name}/{i}.png"] = encode(faces(7)[i])
        members[f"images/{validation}/{name}/{i}.png"] = encode(faces(7)[i])
    found = read(write_folder(tmp_path, members))
    assert sorted(found.usage.tolist()) == [Usage.TRAINING] * 7 + [Usage.PUBLIC_TEST] * 7
    assert found.name == "images"  # 48x48 faces of seven classes, but nothing says FER-2013


def test_an_undivided_test_folder_is_private_test(tmp_path):
    members = {f"{part}/{c}/1.png": encode(faces(1)[0]) for part in ("train", "test") for c in "ab"}
    assert read(write_folder(tmp_path, members)).usage.tolist() == [2, 2, 0, 0]


def test_one_tree_gets_its_split_back_from_official_names(tmp_path):
    members = {f"{c}/PublicTest_{i}.png": encode(faces(7)[i]) for i, c in enumerate(CLASSES)}
    found = read(write_folder(tmp_path, members))
    assert found.usage.tolist() == [Usage.PUBLIC_TEST] * 7
    members = {f"{c}/{i}.png": encode(faces(7)[i]) for i, c in enumerate(CLASSES)}
    found = read(write_folder(tmp_path / "other", members))
    assert found.usage.tolist() == [Usage.UNKNOWN] * 7


def test_other_spellings_of_the_expressions(tmp_path):
    names = ["Anger", "Disgust", "fearful", "Happiness", "sadness", "Surprised", "neutral"]
    members = {f"{name}/{i}.png": encode(faces(7)[i]) for i, name in enumerate(names)}
    found = read(write_folder(tmp_path, members))
    assert found.classes == FER_CLASSES
    by_class = {found.classes[k]: file for k, file in zip(found.labels, found.files, strict=True)}
    assert by_class["happy"] == "Happiness/3.png"


def test_junk_is_ignored(tmp_path):
    junk = {
        "__MACOSX/train/sad/._Training_1.jpg": b"x",
        "train/.DS_Store": b"x",
        "train/sad/Thumbs.db": b"x",
        "train/sad/._Training_4.png": b"x",
        ".git/objects/a.jpg": b"x",
    }
    plain = read(write_folder(tmp_path / "a", fer_members()))
    assert read(write_folder(tmp_path / "b", fer_members() | junk)).fingerprint == plain.fingerprint


@pytest.mark.parametrize("prefix", ["", "fer2013/", "a/b/c/"])
@pytest.mark.parametrize("form", ["folder", "zip", "tar", "tar.gz"])
def test_folder_and_archives_give_the_same(tmp_path, form, prefix):
    plain = read(write_folder(tmp_path / "plain", fer_members()))
    members = dict(reversed(fer_members(prefix).items()))  # another order in the archive
    path = tmp_path / "source"
    if form == "folder":
        write_folder(path, members)
    else:
        modes = {"zip": zip_bytes, "tar": tar_bytes, "tar.gz": lambda m: tar_bytes(m, "w:gz")}
        path.write_bytes(modes[form](members))
    found = read(path)
    assert found.fingerprint == plain.fingerprint
    assert found.name == "FER-2013 (partial, 14 images)"


def test_colour_sets_of_any_classes(tmp_path):
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)  # BGR, as OpenCV writes
    members = {f"train/truck/{i}.png": encode(pictures[i]) for i in (0, 1)}
    members |= {f"test/airplane/{i}.png": encode(pictures[i]) for i in (2, 3)}
    found = read(write_folder(tmp_path / "cifar", members))
    assert found.name == "cifar"
    assert found.classes == ("airplane", "truck")
    assert found.images.shape == (4, 3, 32, 32)
    first = found.files.tolist().index("train/truck/0.png")
    assert np.array_equal(found.images[first], pictures[0, ..., ::-1].transpose(2, 0, 1))
    assert read(tmp_path / "cifar", colour=False).images.shape == (4, 1, 32, 32)


def test_grey_stored_as_colour_is_grey_unless_asked(tmp_path):
    three = np.repeat(faces(2)[..., None], 3, axis=-1)
    root = write_folder(tmp_path, {"a/1.png": encode(three[0]), "b/2.png": encode(three[1])})
    assert np.array_equal(read(root).images[:, 0], faces(2))
    assert np.array_equal(read(root, colour=True).images[:, 2], faces(2))


def test_one_coloured_picture_makes_the_set_coloured(tmp_path):
    red = np.zeros((48, 48, 3), np.uint8)
    red[..., 2] = 200
    found = read(write_folder(tmp_path, {"a/1.png": encode(faces(1)[0]), "b/2.png": encode(red)}))
    assert found.images.shape == (2, 3, 48, 48)
    assert np.array_equal(found.images[0, 1], faces(1)[0])
    assert found.images[1, :, 0, 0].tolist() == [200, 0, 0]


def test_different_sizes_need_image_size(tmp_path):
    members = {"a/1.png": encode(faces(1)[0]), "b/2.png": encode(np.full((20, 30), 9, np.uint8))}
    root = write_folder(tmp_path, members)
    with pytest.raises(UserError, match=r"48x48 pixels and b/2\.png has 30x20; give image_size"):
        read(root)
    found = read(root, image_size=24)
    assert found.images.shape == (2, 1, 24, 24)
    assert (found.images[1] == 9).all()


def test_class_names_rename_folders(tmp_path):
    root = write_folder(tmp_path, {f"{i}/x.png": encode(faces(1)[0]) for i in range(1, 8)})
    names = ["surprise", "fear", "disgust", "happiness", "sadness", "anger", "neutral"]
    raf = {str(i + 1): name for i, name in enumerate(names)}
    found = read(root, class_names=raf)
    assert found.classes == FER_CLASSES
    assert found.labels.tolist() == [5, 2, 1, 3, 4, 0, 6]
    with pytest.raises(UserError, match="names only 01"):
        read(root, class_names={"01": "surprise"})
    with pytest.raises(UserError, match="but 7 is missing"):
        read(root, class_names={k: v for k, v in raf.items() if k != "7"})
    with pytest.raises(UserError, match="at least two classes"):
        read(root, class_names=dict.fromkeys(raf, "face"))


def test_a_damaged_picture_is_named_or_left_out(tmp_path):
    members = fer_members() | {"train/sad/bad.jpg": encode(faces(1)[0], ".jpg")[:-200]}
    root = write_folder(tmp_path, members)
    with pytest.raises(UserError, match=r"train/sad/bad\.jpg.*on_corrupt='skip'"):
        read(root)
    found = read(root, on_corrupt="skip")
    assert len(found) == 14
    assert found.notes["damaged pictures, left out"] == 1
    assert found.notes["the first of them"] == ["train/sad/bad.jpg"]


def test_nothing_but_damaged_pictures(tmp_path):
    root = write_folder(tmp_path, {"a/1.jpg": b"no", "b/2.jpg": b"picture"})
    with pytest.raises(UserError, match="all 2"):
        read(root, on_corrupt="skip")


def test_a_picture_larger_than_it_looks_is_not_decoded(tmp_path):
    bomb = bytearray(encode(faces(1)[0]))
    bomb[16:24] = (100_000).to_bytes(4, "big") * 2
    root = write_folder(tmp_path, {"a/1.png": bytes(bomb), "b/2.png": encode(faces(1)[0])})
    with pytest.raises(UserError, match=r"a/1\.png.*100000x100000 pixels"):
        read(root)


def test_pictures_that_do_not_fit_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("fer_lightning.data.readers.limits.MAX_IN_MEMORY", 1000)
    with pytest.raises(UserError, match="smaller image_size"):
        read(write_folder(tmp_path, fer_members()))
    assert read(tmp_path, image_size=4).images.shape == (14, 1, 4, 4)


def test_empty_folder(tmp_path):
    with pytest.raises(UserError, match="is empty"):
        read(tmp_path)


def test_a_folder_of_something_else(tmp_path):
    write_folder(tmp_path, {"a.txt": b"hello", "b/c.py": b"print()"})
    with pytest.raises(UserError, match=r"holds 2 files \(a\.txt, b/c\.py\)"):
        read(tmp_path)


def test_pictures_without_class_folders(tmp_path):
    write_folder(tmp_path, {"1.png": encode(faces(1)[0]), "test/2.png": encode(faces(1)[0])})
    with pytest.raises(UserError, match="class folders"):
        read(tmp_path)


def test_pictures_that_were_not_read_are_counted(tmp_path):
    extra = {"unlabelled/1.png": encode(faces(1)[0]), "test/2.png": encode(faces(1)[0])}
    found = read(write_folder(tmp_path, fer_members() | extra))
    assert len(found) == 14
    assert found.notes["pictures without a label, not read"] == 2


def test_pictures_directly_in_test_have_no_class():
    names = ["train/a/1.png", "train/b/2.png", "test/3.png", "4.png"]
    [layout] = find_layouts(names)
    assert layout.names == ("train/a/1.png", "train/b/2.png")


def test_a_class_may_be_called_train():
    [layout] = find_layouts(["train/train/1.png", "train/truck/2.png", "test/train/3.png"])
    assert layout.labels == ("train", "train", "truck")


def test_a_copy_of_the_tree_inside_itself_is_noted(tmp_path):
    members = fer_members("images/") | fer_members("images/images/")
    found = read(write_folder(tmp_path, members))
    assert len(found) == 14
    assert found.notes["also found"] == ["images/images"]


def test_a_folder_linked_into_itself_is_read_once(tmp_path):
    write_folder(tmp_path, fer_members())
    (tmp_path / "loop").symlink_to(tmp_path)
    assert len(read(tmp_path)) == 14


def test_a_folder_with_too_many_files(tmp_path, monkeypatch):
    monkeypatch.setattr("fer_lightning.data.readers.limits.MAX_MEMBERS", 10)
    with pytest.raises(UserError, match="more than 10 files"):
        read(write_folder(tmp_path, fer_members()))


def test_kind_fer2013_takes_nothing_else(tmp_path):
    members = {f"{c}/1.png": encode(faces(1)[0]) for c in "ab"}
    with pytest.raises(UserError, match="expected FER-2013"):
        read(write_folder(tmp_path / "other", members), kind="fer2013")
    colour = np.zeros((100, 100, 3), np.uint8)
    colour[..., 0] = 9
    members = {f"{c}/1.png": encode(colour) for c in CLASSES}
    with pytest.raises(UserError, match="are not; read it with kind='auto'"):
        read(write_folder(tmp_path / "raf", members), kind="fer2013")
    assert not has_fer2013(tmp_path / "other")
    assert has_fer2013(write_folder(tmp_path / "fer", fer_members()))


def test_ferplus_needs_rows(tmp_path):
    with pytest.raises(UserError, match=r"fer2013\.csv, whose rows are in order"):
        read(write_folder(tmp_path, fer_members()), ferplus=tmp_path / "fer2013new.csv")
